// The way of all output to people: what a terminal would obey is shown, not sent. Names, notes,
// paths and messages come from others. ESC, BEL, C1 controls and marks of writing direction in them
// are written as \u001b. Within JSON that is the same text. Line ends and tabs pass.
//
// OwnEscape marks our own styles and cursor moves, and only the few that are in use pass.
// Not thread-safe.
#pragma once

#include <ostream>
#include <streambuf>
#include <string>
#include <string_view>

namespace trainctl::client {

// Stands for ESC (or nothing, before a carriage return) in what we write ourselves. No valid UTF-8
// has this byte.
inline constexpr char kOwnEscape = '\xff';

std::string Escaped(std::string_view text);

class EscapingBuffer : public std::streambuf {
 public:
  // kOwn: texts with marked sequences of ours. kLog: what a rank printed; its colours, tabs and
  // carriage returns (progress bars) pass.
  enum class Kind { kOwn, kLog };
  EscapingBuffer(std::ostream* target, Kind kind) : target_(target), kind_(kind) {}
  ~EscapingBuffer() override;  // what was cut off in the middle is written

 protected:
  std::streamsize xsputn(const char* bytes, std::streamsize count) override;
  int_type overflow(int_type byte) override;
  int sync() override;

 private:
  void Write(bool last);

  std::ostream* target_;
  const Kind kind_;
  std::string pending_;  // the beginning of a sequence that goes on in the next write
};

class EscapingStream : public std::ostream {
 public:
  EscapingStream(std::ostream* target, EscapingBuffer::Kind kind)
      : std::ostream(&buffer_), buffer_(target, kind) {}

 private:
  EscapingBuffer buffer_;
};

}  // namespace trainctl::client
