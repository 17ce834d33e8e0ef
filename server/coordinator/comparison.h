// The runs to compare, as server/compare wants them, out of the store. For the read thread.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"
#include "server/compare/compare.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

struct Comparison {
  std::vector<compare::Run> runs;
  compare::Table table;
};

// `names`: jobs and groups, by id or name; none: the newest group. `base`: one of those jobs;
// empty: the first. kNotFound; kInvalid: nothing to compare, or a base that is not among them; kIo.
base::Result<Comparison> CompareJobs(store::Reader& reader, const std::vector<std::string>& names,
                                     const std::string& base);

}  // namespace trainctl::coordinator
