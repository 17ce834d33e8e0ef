// Damaged tokenizers and data are errors with a message, or still usable: never crashes (the
// sanitizers watch).
#include <gtest/gtest.h>

#include "common/base/file.h"
#include "tests/checkout.h"
#include "tests/data/small_tokenizers.h"
#include "tests/files/mutate.h"
#include "worker/rank/data/dataset.h"
#include "worker/rank/data/token_file.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {
namespace {

constexpr char kText[] = "Grüße <s><|user|> 12 \xFF\n\t😀 keyword's ▁▁x";

using Parsed = base::Result<std::unique_ptr<Tokenizer>>;
using Parse = Parsed (*)(std::string_view, const std::string&);

Parsed ParseJson(std::string_view text, const std::string& source) {
  return ParseTokenizerJson(text, source);
}
Parsed ParseModel(std::string_view text, const std::string& source) {
  return ParseSentencePieceModel(text, source);
}

// Mutants of a tokenizer file: refused, or able to encode and decode. Returns how many were
// refused.
int RefusedMutants(const std::string& whole, Parse parse, int rounds) {
  std::mt19937_64 random(3);
  int refused = 0;
  for (int round = 0; round < rounds; ++round) {
    auto tokenizer = parse(Mutate(whole, &random), "t");
    if (tokenizer.ok()) {
      const auto ids = (*tokenizer)->Encode(kText);
      for (const int32_t id : ids) EXPECT_LT(id, (*tokenizer)->vocab_size());
      (*tokenizer)->Decode(ids);
    } else {
      ++refused;
      EXPECT_FALSE(tokenizer.error().message.empty());
    }
  }
  return refused;
}

// A LLaMA-like tokenizer.json, small enough that damage hits its components as often as its
// vocabulary.
std::string SmallLlamaJson() {
  return TokenizerJson(
      R"({"▁": 0, "a": 1, "x": 2, "▁x": 3, "<unk>": 4, "<0xC3>": 5, "<s>": 6, "1": 7, "2": 8, "12": 9})",
      R"([["▁", "x"], "1 2"])",
      R"("added_tokens": [{"id": 6, "content": "<s>", "special": true}, {"id": 20, "content": "<|user|>", "lstrip": true, "rstrip": true},
          {"id": 21, "content": "keyword", "single_word": true}],
         "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
          {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
         "pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": false},
          {"type": "Split", "pattern": {"Regex": "\\s+(?!\\S)|x"}, "behavior": "MergedWithNext", "invert": false},
          {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": true}]},
         "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "},
          {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})",
      R"("unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true)");
}

TEST(Malformed, TokenizerJson) {
  constexpr int kRounds = 4000;
  ASSERT_TRUE(ParseTokenizerJson(SmallLlamaJson(), "t").ok())
      << ParseTokenizerJson(SmallLlamaJson(), "t").error().message;
  EXPECT_GT(RefusedMutants(SmallLlamaJson(), ParseJson, kRounds), kRounds / 4);
}

TEST(Malformed, SentencePieceModels) {
  const std::string folder = checkout::File("tests/baselines/tokenizers/");
  const auto read = [&](const std::string& kind) {
    return base::ReadFile(folder + kind + "/tokenizer.model", 1 << 20).value();
  };
  EXPECT_GT(RefusedMutants(read("sentencepiece"), ParseModel, 300), 30);
  EXPECT_GT(RefusedMutants(read("sentencepiece_nfkc"), ParseModel, 300), 0);
}

TEST(Malformed, AlpacaData) {
  const ScratchDirectory directory;
  const job::ModelShape model = WriteByteModel(directory);
  const std::string whole =
      R"([{"instruction": "Add.", "input": "1 2", "output": "3é"}, {"instruction": "Go", "output": "ok"}])";
  constexpr int kRounds = 500;
  std::mt19937_64 random(4);
  int refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    job::DataSpec data;
    data.path = directory.Write("data.json", Mutate(whole, &random));
    auto dataset = LoadDataset(data, model, directory.path(), 64);
    if (!dataset.ok()) {
      ++refused;
      EXPECT_NE(dataset.error().message.find("data.json"), std::string::npos)
          << dataset.error().message;
    }
  }
  EXPECT_GT(refused, kRounds / 4);
}

TEST(Malformed, TokenFiles) {
  const ScratchDirectory directory;
  std::string whole(1024 + 20, '\0');
  whole.replace(0, 12, std::string("\x88\xD8\x34\x01\x01\x00\x00\x00\x0A\x00\x00\x00", 12));
  std::mt19937_64 random(5);
  for (int round = 0; round < 500; ++round) {
    auto tokens = ReadTokenFile(
        files::MappedFile::Open(directory.Write("d.bin", Mutate(whole, &random))).value());
    for (int64_t i = 0; tokens.ok() && i < tokens->size(); ++i) EXPECT_LT((*tokens)[i], 65536);
  }
}

}  // namespace
}  // namespace trainctl::data
