// Tokenizers' files. What can be read encodes a text, and decodes it.
#include <memory>
#include <string>

#include "common/base/check.h"
#include "tests/fuzz/halves.h"
#include "tests/fuzz/targets.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::fuzz {
namespace {

using Read = base::Result<std::unique_ptr<data::Tokenizer>>;

constexpr std::string_view kText = "Grüße <s><|user|> 12 \xFF\n\t😀 keyword's ▁▁x  e\u0301 ﬁ";
constexpr size_t kMostText = 4096;

bool Use(const Read& read, std::string_view more) {
  if (!read) return false;
  const data::Tokenizer& tokenizer = **read;
  for (const std::string_view text : {kText, more.substr(0, kMostText)}) {
    const std::vector<int32_t> ids = tokenizer.Encode(text);
    for (const int32_t id : ids) CHECK(id >= 0 && id < tokenizer.vocab_size()) << id;
    tokenizer.Decode(ids);
  }
  tokenizer.Decode(std::vector<int32_t>{-1, 0, INT32_MAX, INT32_MIN});
  return true;
}

}  // namespace

bool ReadTokenizerJson(std::string_view bytes) {
  const auto [file, text] = Halves(bytes);
  return Use(data::ParseTokenizerJson(file, "t"), text);
}

bool ReadSentencePiece(std::string_view bytes) {
  const data::SentencePieceOptions options{
      .beside = {.listed = {{.id = 20, .content = "<|user|>", .lstrip = true, .rstrip = true}},
                 .named = {{.id = -1, .content = "keyword", .single_word = true}}},
      .has_own_tokens = true};
  return Use(data::ParseSentencePieceModel(bytes, "t"), "") &&
         Use(data::ParseSentencePieceModel(bytes, "t", options), "");
}

bool ReadVocabMerges(std::string_view bytes) {
  const auto [vocab, merges] = Halves(bytes);
  return Use(data::ParseVocabAndMerges(vocab, merges, "t"), "");
}

}  // namespace trainctl::fuzz
