// What the coordinator counts of its own work, for /metrics. Any thread; it lives as long as the
// process.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/result.h"
#include "server/meters/histogram.h"

namespace trainctl::meters {

// How a call ended, by gRPC's names: kIo and kInternal are one (common/wire/grpc_code.h).
inline constexpr std::array<std::string_view, 8> kCallEnds = {
    "OK",       "INVALID_ARGUMENT",    "NOT_FOUND",        "UNAVAILABLE", "RESOURCE_EXHAUSTED",
    "INTERNAL", "FAILED_PRECONDITION", "PERMISSION_DENIED"};

struct Call {
  std::array<std::atomic<int64_t>, kCallEnds.size()> ended{};  // by kCallEnds
  Histogram seconds;
};

class Meters {
 public:
  // A row for each RPC of auth::Permissions.
  explicit Meters(const base::Clock& clock);

  base::SteadyMicros Now() const { return clock_.Steady(); }

  // Of a unary call that began then. An RPC that is not in the table is not counted.
  void CallEnded(std::string_view rpc, const base::Status& status, base::SteadyMicros began);
  void CommitEnded(bool stored, base::SteadyMicros began);

  const std::map<std::string_view, Call>& calls() const { return calls_; }
  const Histogram& commits() const { return commits_; }
  int64_t failed_commits() const { return failed_commits_; }

 private:
  const base::Clock& clock_;
  std::map<std::string_view, Call> calls_;
  Histogram commits_;
  std::atomic<int64_t> failed_commits_ = 0;
};

}  // namespace trainctl::meters
