#include "client/keys.h"

#include <algorithm>

namespace trainctl::client {
namespace {

constexpr char kEscape = '\x1b';
constexpr size_t kLongestSequence = 16;

struct Sequence {
  std::string_view bytes;  // behind ESC
  KeyKind kind;
};

// Of xterm and its many relatives, in both of its modes, and of the Linux console.
constexpr Sequence kSequences[] = {
    {"[A", KeyKind::kUp},    {"OA", KeyKind::kUp},      {"[B", KeyKind::kDown},
    {"OB", KeyKind::kDown},  {"[5~", KeyKind::kPageUp}, {"[6~", KeyKind::kPageDown},
    {"[H", KeyKind::kHome},  {"OH", KeyKind::kHome},    {"[1~", KeyKind::kHome},
    {"[7~", KeyKind::kHome}, {"[F", KeyKind::kEnd},     {"OF", KeyKind::kEnd},
    {"[4~", KeyKind::kEnd},  {"[8~", KeyKind::kEnd},
};

// How long the sequence behind ESC is; 0: more is to come.
size_t SequenceLength(std::string_view behind) {
  if (behind.empty()) return 0;
  if (behind[0] == 'O') return behind.size() < 2 ? 0 : 2;
  for (size_t i = 1; i < std::min(behind.size(), kLongestSequence); ++i) {
    if (behind[i] >= '@' && behind[i] <= '~') return i + 1;
  }
  return behind.size() < kLongestSequence ? 0 : kLongestSequence;
}

}  // namespace

// Of what begins with ESC. whole: it was taken, though it may be no key of ours.
std::optional<KeyPress> KeyReader::TakeSequence(bool last, bool* whole) {
  const std::string_view behind = std::string_view(bytes_).substr(1);
  const bool is_sequence = !behind.empty() && (behind[0] == '[' || behind[0] == 'O');
  const size_t length = is_sequence ? SequenceLength(behind) : 0;
  *whole = length > 0 || last || (!behind.empty() && !is_sequence);
  if (!*whole) return std::nullopt;
  std::optional<KeyPress> key;
  if (length == 0) key = KeyPress{KeyKind::kEscape};
  for (const Sequence& sequence : kSequences) {
    if (behind.substr(0, length) == sequence.bytes) key = KeyPress{sequence.kind};
  }
  bytes_.erase(0, 1 + length);
  return key;
}

std::optional<KeyPress> KeyReader::Next(bool last) {
  while (!bytes_.empty()) {
    const char first = bytes_[0];
    if (first == kEscape) {
      bool whole = false;
      const std::optional<KeyPress> key = TakeSequence(last, &whole);
      if (key || !whole) return key;
      continue;
    }
    bytes_.erase(0, 1);
    if (first == '\r' || first == '\n') return KeyPress{KeyKind::kEnter};
    if (first == '\x7f' || first == '\b') return KeyPress{KeyKind::kBackspace};
    if (first >= ' ' && first <= '~') return KeyPress{KeyKind::kCharacter, first};
  }
  return std::nullopt;
}

}  // namespace trainctl::client
