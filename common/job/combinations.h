// The table of combinations: what does not combine, with the reason and what to do. Its settings
// are strategy, sharding, offload, precision, optimizer, LoRA, quantize, checkpointing, engine,
// deterministic and output. Everything that no row names combines. Pure, thread-safe.
//
// One row is one fact about two or three settings. It is blamed on the one that is most likely
// meant to change. What depends on the model is check_model.h; what depends on the site is site.h.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "common/job/job.h"
#include "common/json/problem.h"

namespace trainctl::job {

struct Clash {
  std::string_view key;              // the setting that is blamed
  bool (*is_asked)(const JobSpec&);  // of a job whose strategy is resolved
  std::string_view expected;         // values of `key` that do combine
  std::string_view reason;           // why it does not, and what else could be changed
};

std::span<const Clash> Clashes();

// One problem for each row that the job asks for, with path, expected and hint.
std::vector<Problem> FindClashes(const JobSpec& job);

}  // namespace trainctl::job
