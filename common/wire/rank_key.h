// Names one rank of one attempt of a job, as every message about a rank does.
#pragma once

#include <compare>
#include <cstdint>
#include <string>

#include "common/base/ids.h"
#include "common/base/result.h"

namespace trainctl::wire {

struct RankKey {
  base::JobId job;
  int64_t attempt = 0;  // from 1
  int64_t rank = 0;     // from 0
  auto operator<=>(const RankKey&) const = default;
};

// The largest rank and attempt that is believed: beyond it a message is damaged.
inline constexpr int64_t kMaxRank = 65535;
inline constexpr int64_t kMaxAttempt = 1'000'000'000;

// The three fields `job`, `attempt`, `rank` of a message. kInvalid names the field.
base::Result<RankKey> ReadRankKey(const std::string& job, int64_t attempt, int64_t rank);

// Writes the three fields into any message that has them.
template <class Message>
void WriteRankKey(const RankKey& key, Message* message) {
  message->set_job(base::ToString(key.job));
  message->set_attempt(key.attempt);
  message->set_rank(key.rank);
}

// "j12 attempt 1 rank 0": for messages to people and logs.
std::string ToString(const RankKey& key);

}  // namespace trainctl::wire
