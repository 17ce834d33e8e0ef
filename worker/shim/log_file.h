// What a rank wrote to stdout and stderr: rank.log.<offset of its first byte> (segments.h). The
// first segment (how the rank began) and the newest ones are kept; what lies between is dropped. So
// a flood stays within the bound, and every byte keeps its absolute offset.
//
// A full disk never makes the rank wait. What it can't take is held in memory, up to a bound, and
// written as soon as there is room. Beyond the bound the oldest bytes held are lost: they count in
// the offset, and the next segment starts behind them. Who reads the log finds a mark in such a
// gap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "worker/shim/segments.h"

namespace trainctl::shim {

struct LogLimits {
  int64_t first_bytes = 1 << 20;    // of the first segment
  int64_t segment_bytes = 7 << 20;  // of each other
  size_t newest_segments = 9;       // kept besides the first: 64 MiB in all
  size_t held_bytes = 1 << 20;      // in memory, while the disk is full
};

class LogFile {
 public:
  LogFile(std::string folder, LogLimits limits)
      : limits_(limits), writer_(std::move(folder), "rank.log") {}
  void Append(std::string_view bytes);
  // Writes what is held, as far as there is room.
  void Flush();
  // Nothing more will come. Returns how many bytes at the end could not be written.
  int64_t Finish();

  bool stalled() const { return !held_.empty(); }
  // The errno that keeps what is held from the disk; 0: nothing is held.
  int error() const { return stalled() ? writer_.error() : 0; }
  // Bytes the rank ever wrote.
  int64_t end() const { return written_end_ + static_cast<int64_t>(held_.size()); }

 private:
  int64_t Room();

  const LogLimits limits_;
  SegmentWriter writer_;
  int64_t written_end_ = 0;  // the offset of held_
  std::string held_;
};

struct LogChunk {
  int64_t offset = 0;  // of data's first byte: beyond the asked one where that part is lost
  std::string data;    // empty: there is nothing yet
};

// At most max_bytes from offset on.
LogChunk ReadLog(const std::string& folder, int64_t offset, size_t max_bytes);

// The last lines of the log, at most max_bytes; a cut first line is left out.
std::string LogTail(const std::string& folder, size_t max_lines, size_t max_bytes = 64 << 10);

}  // namespace trainctl::shim
