// A stream kept as a chain of files. Any part of it can be dropped while it grows, and every
// position keeps its meaning.
//   <folder>/<prefix>.<start>     start = the position of the file's first byte or line, in 15
//                                 decimal digits
// `cat <prefix>.*` prints the chain in order. One process writes; others read at any time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/descriptor.h"

namespace trainctl::shim {

struct Segment {
  int64_t start = 0;  // a position of the stream: a byte of a log, a line of a spool
  int64_t bytes = 0;
};

std::string SegmentPath(const std::string& folder, std::string_view prefix, int64_t start);

// The segments there are, by start. Empty where the folder can't be read.
std::vector<Segment> ListSegments(const std::string& folder, std::string_view prefix);

class SegmentWriter {
 public:
  SegmentWriter(std::string folder, std::string prefix)
      : folder_(std::move(folder)), prefix_(std::move(prefix)) {}

  // Ends the newest segment (an empty one is removed) and begins the next. False: the operating
  // system refused; then none is open.
  bool Begin(int64_t start);
  // Appends to the open segment; returns how many bytes it took: fewer than given where the disk is
  // full.
  size_t Write(std::string_view bytes);
  // The stream ends: removes the newest segment where it is empty.
  void End();
  // Removes the file of segments()[index], which is not the open one.
  void Drop(size_t index);

  bool open() const { return file_.open(); }
  // The errno of the last Begin or Write; 0: the operating system took it whole.
  int error() const { return error_; }
  // Those that are kept, by start; the last is the open one.
  const std::vector<Segment>& segments() const { return segments_; }
  int64_t bytes() const;  // of all that are kept

 private:
  const std::string folder_;
  const std::string prefix_;
  base::Descriptor file_;
  int error_ = 0;
  std::vector<Segment> segments_;
};

}  // namespace trainctl::shim
