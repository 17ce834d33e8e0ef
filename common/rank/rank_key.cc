#include "common/rank/rank_key.h"

namespace trainctl::job {

std::string ToString(const RankKey& key) {
  return base::ToString(key.job) + " attempt " + std::to_string(key.attempt) + " rank " +
         std::to_string(key.rank);
}

}  // namespace trainctl::job
