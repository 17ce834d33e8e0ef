// Names of a data set's files, as hubs have them: train-00000-of-00003.parquet.
#pragma once

#include <string>
#include <vector>

#include "common/base/result.h"

namespace trainctl::data {

// Whether the file is of that split, by its name.
bool IsOfSplit(const std::string& path, const std::string& split);

// Whether these files of one folder, by their names, are one split, and all of it. A name ends with
// "-N-of-M" or, as older ones do, "-N-of-M-HASH"; without it, a word of it may tell the split
// ("imdb-test.arrow"). kInvalid: several splits, which are told; a file that is missing or twice.
base::Status CheckShards(const std::string& folder, const std::vector<std::string>& paths);

}  // namespace trainctl::data
