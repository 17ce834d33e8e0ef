// How often each user may call. Everyone has a bucket of calls that fills at a steady rate. Where
// it is empty a call is refused before it is read. Thread-safe where the clock is.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/result.h"
#include "server/auth/caller.h"

namespace trainctl::auth {

struct RateBound {
  std::optional<int64_t> per_second;  // from 1 to 1,000,000; nullopt: no bound
  int64_t burst = 1;                  // at once, of a bucket that is full
};

class CallRate {
 public:
  static constexpr const char* kUnknown = "whoever is not known";  // one user, as all such callers
  static constexpr size_t kMostUsers = 4096;  // whose buckets are known; further ones share one

  // The clock outlives it. `bound_of` is asked at each call, from any thread.
  using BoundOf = std::function<RateBound(const std::string& user)>;
  CallRate(const base::Clock& clock, BoundOf bound_of)
      : clock_(clock), bound_of_(std::move(bound_of)) {}

  struct Refusal {
    base::Error error;    // kExhausted: whose bound it is, which, and when to try again
    int64_t wait_ms = 0;  // until there is a call in the bucket
  };
  // Takes a call of the user's bucket. A call that is refused takes none.
  std::optional<Refusal> Take(const std::string& user);
  // Whether Take would be refused; it takes none, and is not counted.
  std::optional<Refusal> Look(const std::string& user);

  // Calls that were refused so far.
  int64_t refused() const { return refused_; }

 private:
  // nullopt: there is a call in the bucket; it is taken where that is asked for.
  std::optional<Refusal> Ask(const std::string& user, bool take);
  int64_t& FullAt(const std::string& user, int64_t now);

  const base::Clock& clock_;
  const BoundOf bound_of_;
  std::atomic<int64_t> refused_ = 0;
  std::mutex mutex_;
  // When each bucket is full again, in steady nanoseconds. One that is full is as if never used.
  std::map<std::string, int64_t> full_at_;
  int64_t others_full_at_ = 0;
  int64_t next_sweep_ = 0;
};

// Whose calls are counted together: a user's, else those of an address. On loopback all who can't
// be proven are one.
std::string PayerOf(const Caller& caller);
// "whoever calls from 10.0.0.7"
std::string EveryoneAt(const Caller& caller);

}  // namespace trainctl::auth
