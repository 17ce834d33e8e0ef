// Names one rank of one attempt of a job, as everything that is said about a rank does.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "common/base/ids.h"

namespace trainctl::job {

// The largest rank that is believed: beyond it a message is damaged.
inline constexpr int64_t kMaxRank = 65535;

struct RankKey {
  base::JobId job;
  int64_t attempt = 0;  // from 1
  int64_t rank = 0;     // from 0
  auto operator<=>(const RankKey&) const = default;
};

// "j12 attempt 1 rank 0": for messages to people and logs.
std::string ToString(const RankKey& key);

}  // namespace trainctl::job
