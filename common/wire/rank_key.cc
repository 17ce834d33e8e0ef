#include "common/wire/rank_key.h"

namespace trainctl::wire {

base::Result<job::RankKey> ReadRankKey(const std::string& job, int64_t attempt, int64_t rank) {
  const auto id = base::ParseJobId(job);
  if (!id)
    return base::Error{base::Code::kInvalid,
                       "job: '" + job.substr(0, 64) + "': expected a job id such as j12"};
  if (attempt < 1 || attempt > kMaxAttempt) {
    return base::Error{base::Code::kInvalid,
                       "attempt: " + std::to_string(attempt) + ": expected a number from 1"};
  }
  if (rank < 0 || rank > job::kMaxRank) {
    return base::Error{base::Code::kInvalid, "rank: " + std::to_string(rank) +
                                                 ": expected a number from 0 to " +
                                                 std::to_string(job::kMaxRank)};
  }
  return job::RankKey{*id, attempt, rank};
}

}  // namespace trainctl::wire
