#include "client/show/escaping.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>

#include "common/base/utf8.h"

namespace trainctl::client {
namespace {

using Kind = EscapingBuffer::Kind;

// Styles (text_table.cc), moves and erasures (progress.cc, status.cc).
constexpr std::string_view kOwnSequences[] = {"[0m", "[1m", "[2m", "[31m", "[32m", "[33m", "[1A",
                                              "[2K", "[H",  "[2J", "\r",   "7",    "8"};
constexpr size_t kLongestColour = 32;
constexpr size_t kLongestPicture = 5000;            // a piece of one
constexpr size_t kLongestSixels = size_t{4} << 20;  // one as a whole
constexpr std::string_view kSixels = "P0;1;0q";     // as it begins

// What stands at the front of a text: how long it is, and what is written for it.
struct Piece {
  size_t bytes = 0;  // 0: more is to come
  std::string shown;
};

std::string Spelled(char32_t value) {
  char text[8];
  std::snprintf(text, sizeof text, "\\u%04x", static_cast<unsigned>(value));
  return text;
}

Piece AsItIs(std::string_view text, size_t bytes) {
  return {bytes, std::string(text.substr(0, bytes))};
}

// "[20A", "[7B", "[4C": moves of terminal_plot.cc; and its colours, "[38;2;0;114;178m". How long it
// is; 0: none of these.
size_t LengthOfMove(std::string_view text) {
  if (!text.starts_with("[")) return 0;
  const size_t end = text.substr(0, kLongestColour).find_first_not_of("0123456789;", 1);
  if (end == std::string_view::npos || end == 1) return 0;
  const std::string_view numbers = text.substr(1, end - 1);
  const bool is_one = numbers.find(';') == std::string_view::npos;
  const bool is_move = is_one && std::string_view("ABC").find(text[end]) != std::string_view::npos;
  return is_move || (text[end] == 'm' && numbers.starts_with("38;2;")) ? end + 1 : 0;
}

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=,;";

// "_Ga=T,…;base64": a piece of a picture (kitty_picture.cc). Only what is sent in itself: no file
// that the terminal would read.
bool IsKittyPicture(std::string_view text) {
  return text.starts_with("_G") && text.find_first_not_of(kBase64, 2) == text.npos &&
         text.substr(0, text.find(';')).find("t=") == text.npos;
}

// Of sixel_picture.cc. Data of sixels are printable.
bool IsSixelPicture(std::string_view text) {
  return text.starts_with(kSixels) &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c <= '~'; });
}

// A picture up to its end, "ESC \\".
Piece PicturePiece(std::string_view text, bool last) {
  const size_t longest = text.substr(1).starts_with(kSixels) ? kLongestSixels : kLongestPicture;
  const size_t end = text.find(kOwnEscape, 1);
  if (end == std::string_view::npos && !last && text.size() < longest) return {};
  const std::string_view inner = text.substr(1, end == text.npos ? end : end - 1);
  const bool is_plain = IsKittyPicture(inner) || IsSixelPicture(inner);
  if (end == std::string_view::npos || !is_plain) return {1, "\uFFFD"};
  if (end + 1 >= text.size() && !last) return {};
  if (!text.substr(end + 1).starts_with("\\")) return {1, "\uFFFD"};
  return {end + 2, "\x1b" + std::string(inner) + "\x1b\\"};
}

Piece OwnPiece(std::string_view text, bool last) {
  const std::string_view rest = text.substr(1);
  if (rest.starts_with("_G") || rest.starts_with(kSixels)) return PicturePiece(text, last);
  if (const size_t length = LengthOfMove(rest))
    return {1 + length, "\x1b" + std::string(rest.substr(0, length))};
  const bool goes_on = rest == "_" || kSixels.starts_with(rest) ||
                       (rest.starts_with("[") && rest.size() < kLongestColour &&
                        rest.find_first_not_of("0123456789;", 1) == rest.npos);
  if (goes_on && !last) return {};
  for (const std::string_view sequence : kOwnSequences) {
    if (rest.starts_with(sequence))
      return {1 + sequence.size(), (sequence == "\r" ? "" : "\x1b") + std::string(sequence)};
    if (!last && sequence.starts_with(rest)) return {};
  }
  return {1, "\uFFFD"};
}

// "ESC [ 1 ; 31 m"
Piece ColourPiece(std::string_view text, bool last) {
  const size_t end = text.find_first_not_of("0123456789;", 2);
  const bool begins = text.size() < 2 || text[1] == '[';
  if (begins && end != std::string_view::npos && text[end] == 'm') return AsItIs(text, end + 1);
  if (begins && end == std::string_view::npos && !last && text.size() < kLongestColour) return {};
  return {1, Spelled(text[0])};
}

size_t WantedBytes(char lead) {
  const auto byte = static_cast<uint8_t>(lead);
  return byte < 0xC0 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

Piece Next(std::string_view text, Kind kind, bool last) {
  const char lead = text[0];
  if (lead == '\n' || lead == '\t' || (lead == '\r' && kind == Kind::kLog)) return AsItIs(text, 1);
  if (lead == kOwnEscape && kind == Kind::kOwn) return OwnPiece(text, last);
  if (lead == '\x1b' && kind == Kind::kLog) return ColourPiece(text, last);
  const auto first = base::FirstCodePoint(text);
  if (first && base::IsControl(first->value)) return {first->bytes, Spelled(first->value)};
  if (first) return AsItIs(text, first->bytes);
  if (text.size() < WantedBytes(lead) && !last) return {};
  return {1, "\uFFFD"};
}

// Takes what is whole from the front of text.
std::string Take(std::string* text, Kind kind, bool last) {
  std::string shown;
  std::string_view rest = *text;
  while (!rest.empty()) {
    const Piece piece = Next(rest, kind, last);
    if (piece.bytes == 0) break;
    shown += piece.shown;
    rest.remove_prefix(piece.bytes);
  }
  text->erase(0, text->size() - rest.size());
  return shown;
}

}  // namespace

std::string Escaped(std::string_view text) {
  std::string rest(text);
  return Take(&rest, Kind::kOwn, /*last=*/true);
}

EscapingBuffer::~EscapingBuffer() { Write(/*last=*/true); }

void EscapingBuffer::Write(bool last) { *target_ << Take(&pending_, kind_, last); }

std::streamsize EscapingBuffer::xsputn(const char* bytes, std::streamsize count) {
  pending_.append(bytes, static_cast<size_t>(count));
  Write(/*last=*/false);
  return *target_ ? count : 0;
}

EscapingBuffer::int_type EscapingBuffer::overflow(int_type byte) {
  if (traits_type::eq_int_type(byte, traits_type::eof())) return traits_type::not_eof(byte);
  const char c = traits_type::to_char_type(byte);
  return xsputn(&c, 1) == 1 ? byte : traits_type::eof();
}

int EscapingBuffer::sync() { return target_->flush() ? 0 : -1; }

}  // namespace trainctl::client
