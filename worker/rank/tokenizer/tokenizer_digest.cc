#include "worker/rank/tokenizer/tokenizer_digest.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "worker/rank/files/digest.h"

namespace trainctl::data {
namespace {

// What tokenizers do in different ways: words and their parts, case, digits, white space, accents,
// scripts, code, and what no vocabulary has as one token.
constexpr std::string_view kProbe =
    "Below is an instruction that describes a task; write a response that appropriately completes "
    "the request. The quick brown fox doesn't jump over 1,234.5678 lazy dogs in 2026, does it?\n\n"
    "UPPERCASE mixedCase snake_case  two   three    four\ttab\r\n"
    "for (int i = 0; i < n; ++i) { total += rows[i] * 0x1F; }  # def f(x): return x ** 2\n"
    "Straßenbahnhaltestelle, élève, mañana, Привет, 你好世界, こんにちは, مرحبا, नमस्ते, 😀 "
    "https://example.org/a?b=c&d=%20 "
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis";

}  // namespace

std::string DigestOf(const Tokenizer& tokenizer) {
  const std::vector<int32_t> ids = tokenizer.Encode(kProbe);
  return files::Digest(std::as_bytes(std::span(ids)));
}

}  // namespace trainctl::data
