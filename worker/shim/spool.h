// The messages of a rank, one JSON line each, numbered from 1: spool.jsonl.<number of its first
// line> (segments.h). The worker relays them by number and says how far they are stored; files that
// are stored wholly are removed, so that the bound is on what nobody has yet.
//
// An object's first member says when the shim heard it, by the host's clock:
// {"heard_at":<wall micros>,"type":…}. Readers that do not know it skip it.
//
// Overflow: beyond the bound, lines that may be lost (progress, metrics) are dropped and counted;
// the count stands in one
// {"type":"dropped","messages":n} as soon as there is room again, at the latest at the end. All
// others are kept up to twice the bound. A full disk holds lines back in memory under the same
// rule. The rank never waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/descriptor.h"
#include "worker/shim/line_buffer.h"
#include "worker/shim/segments.h"

namespace trainctl::shim {

// No message of a rank is longer.
inline constexpr size_t kMaxLineBytes = 1 << 20;

struct SpoolLimits {
  int64_t total_bytes = 64 << 20;
  int64_t segment_bytes = 4 << 20;
};

class Spool {
 public:
  Spool(std::string folder, SpoolLimits limits)
      : limits_(limits), writer_(std::move(folder), "spool.jsonl") {}

  // line without its newline. heard_at: 0 where that is not known.
  void Append(std::string_view line, base::WallMicros heard_at = 0);
  // Counts a message that was lost before it came here.
  void CountDropped(int64_t messages) { dropped_ += messages; }
  // Lines up to this number are stored elsewhere.
  void Acknowledge(int64_t sequence);
  // Nothing more will come. Of what a full disk held back, lines that may be lost are dropped: so
  // the others find room. Says what was dropped, and writes.
  void Finish(base::WallMicros now = 0);
  // Writes what a full disk held back, as far as there is room.
  void Flush();

  bool stalled() const { return !pending_.empty(); }
  // The errno that keeps what is held from the disk; 0: nothing is held.
  int error() const { return stalled() ? writer_.error() : 0; }
  int64_t lines() const { return lines_; }

 private:
  int64_t HeldBytes() const { return writer_.bytes() + static_cast<int64_t>(pending_.size()); }
  void Push(std::string_view line);
  void DropWhatMayBeLost();
  void SayDropped(base::WallMicros now);

  const SpoolLimits limits_;
  SegmentWriter writer_;
  std::string pending_;  // not yet written, from the middle of a line where the disk was full there
  int64_t lines_ = 0;
  int64_t written_lines_ = 0;
  bool at_line_start_ = true;
  int64_t dropped_ = 0;
};

// One more line at the end of a spool whose writer has ended. The writer may have ended in the
// middle of a line. Lost if the disk is full.
void AppendToEndedSpool(const std::string& folder, std::string_view line);

// When the shim heard a line of a spool; 0: it does not say.
base::WallMicros HeardAt(std::string_view line);

struct SpoolLine {
  int64_t sequence = 0;
  std::string text;
};

// Reads a spool while it is written. A last line without its newline is not there yet.
class SpoolReader {
 public:
  explicit SpoolReader(std::string folder);

  // The next line will be this one, or the first that is still kept.
  void Seek(int64_t sequence);
  std::optional<SpoolLine> Next();
  // The number of the line that Next gives, now or once it is there.
  int64_t next_sequence() const { return next_; }

 private:
  void Open(int64_t start);
  bool Follow();

  const std::string folder_;
  base::Descriptor file_;
  int64_t segment_start_ = 0;  // of file_; 0: none is open
  int64_t next_ = 1;           // number of the first line in ready_, or of the next to be read
  LineBuffer partial_{kMaxLineBytes};
  std::deque<std::string> ready_;
};

}  // namespace trainctl::shim
