// GPT-2's byte-level alphabet: every byte has a printable character that stands for it in
// vocabulary files (Radford et al. 2019, bytes_to_unicode). Printable Latin-1 bytes stand for
// themselves; the other 68, in ascending order, are U+0100, U+0101, …
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainctl::data {

// The bytes that a vocabulary entry stands for; nullopt where it holds a character that is not of
// the alphabet.
std::optional<std::string> BytesOfByteLevel(std::string_view entry);

// GPT-2's split pattern, which ByteLevel with use_regex applies.
extern const std::string_view kGpt2SplitPattern;
// Qwen2Tokenizer's: each digit is a word.
extern const std::string_view kQwen2SplitPattern;
// Qwen2Tokenizer's: each digit is a word.
extern const std::string_view kQwen2SplitPattern;

}  // namespace trainctl::data
