// The fields `job`, `attempt`, `rank` of every message about a rank ↔ job::RankKey.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/result.h"
#include "common/rank/rank_key.h"

namespace trainctl::wire {

// The largest attempt that is believed.
inline constexpr int64_t kMaxAttempt = 1'000'000'000;

// The three fields `job`, `attempt`, `rank` of a message. kInvalid names the field.
base::Result<job::RankKey> ReadRankKey(const std::string& job, int64_t attempt, int64_t rank);

// Writes the three fields into any message that has them.
template <class Message>
void WriteRankKey(const job::RankKey& key, Message* message) {
  message->set_job(base::ToString(key.job));
  message->set_attempt(key.attempt);
  message->set_rank(key.rank);
}

}  // namespace trainctl::wire
