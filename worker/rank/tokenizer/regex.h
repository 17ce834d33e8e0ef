// Regular expressions of tokenizer files, by PCRE2 with UTF and Unicode properties (the split
// patterns need lookahead). Tokenizers itself uses Oniguruma; \s and \S are read as the Unicode
// property White_Space, as there. Both know the Unicode version of their release: characters
// assigned after Unicode 14 may be classified differently.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

struct pcre2_real_code_8;

namespace trainctl::data {

// [begin, end) of a text, and whether the pattern matched it.
struct Span {
  size_t begin = 0;
  size_t end = 0;
  bool is_match = false;
};

// Thread-safe.
class Regex {
 public:
  // kInvalid: PCRE2's message and the place in the pattern.
  static base::Result<Regex> Compile(std::string_view pattern);
  // A pattern that stands for itself.
  static Regex Literal(std::string_view text);

  // The whole text as alternating spans: matches, and what lies between them; empty ones are left
  // out. The text is well-formed UTF-8. If matching exceeds PCRE2's own limit of steps, the rest of
  // the text counts as not matched. No known tokenizer's pattern can.
  void Split(std::string_view text, std::vector<Span>* spans) const;

 private:
  explicit Regex(std::shared_ptr<const pcre2_real_code_8> code) : code_(std::move(code)) {}

  std::shared_ptr<const pcre2_real_code_8>
      code_;  // shared: compiled once, tokenizer components are values
};

}  // namespace trainctl::data
