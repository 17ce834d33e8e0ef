// Where the last lines of a rank's log begin. Pure but for reading files: any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace trainctl::coordinator {

// One file of a log.
struct LogSegment {
  std::string path;
  int64_t offset = 0;  // of its first byte in the rank's whole output
  int64_t size = 0;    // bytes

  int64_t End() const { return offset + size; }
};

// Where the last `lines` lines begin; a last line without its line break counts as one. 0 lines:
// the first byte kept. Reads blocks from the end, and no more than it needs. What was deleted
// meanwhile is not counted. kIo.
base::Result<int64_t> LogTailOffset(const std::vector<LogSegment>& segments, int64_t lines);

}  // namespace trainctl::coordinator
