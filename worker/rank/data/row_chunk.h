// A part of a data file's rows, which any thread may read.
#pragma once

#include <cstdint>
#include <functional>

#include "common/base/result.h"
#include "worker/rank/data/json_rows.h"

namespace trainctl::data {

struct RowChunk {
  // Gives its rows to take, in order, up to the first error. Called once.
  std::function<base::Status(const TakeRow& take)> read;
  int64_t done_bytes = 0;  // of the data files, up to its end
};

// Takes the next chunk; false: no more are wanted.
using PutChunk = std::function<bool(RowChunk chunk)>;

}  // namespace trainctl::data
