#include <gmock/gmock.h>

#include "tests/data/small_tokenizers.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// a b c space ▁ <unk> and the merges ab, abc; ▁a is only a word.
constexpr char kVocab[] =
    R"({"a": 0, "b": 1, "c": 2, "ab": 3, "abc": 4, "▁": 5, "▁a": 6, "<unk>": 7, " ": 8, "bc": 9})";
constexpr char kMerges[] = R"(["a b", ["ab", "c"], ["b", "c"]])";

std::unique_ptr<Tokenizer> Parse(const std::string& json) {
  auto tokenizer = ParseTokenizerJson(json, "t.json");
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  return std::move(tokenizer).value();
}

std::string MessageOf(const std::string& json) {
  auto tokenizer = ParseTokenizerJson(json, "t.json");
  return tokenizer.ok() ? "accepted" : tokenizer.error().message;
}

std::vector<int32_t> Encode(const std::string& more, std::string_view text,
                            const std::string& options = "") {
  return Parse(TokenizerJson(kVocab, kMerges, more, options))->Encode(text);
}

TEST(TokenizerJson, MergesGoByRankNotFromTheLeft) {
  EXPECT_THAT(Encode("", "abc"), ElementsAre(4));
  EXPECT_THAT(Encode("", "bcab"), ElementsAre(9, 3));
  const std::string late_ab =
      TokenizerJson(R"({"a": 0, "b": 1, "c": 2, "ab": 3, "bc": 4})", R"(["b c", "a b"])");
  EXPECT_THAT(Parse(late_ab)->Encode("abc"), ElementsAre(0, 4));
}

TEST(TokenizerJson, MergesAcrossASpaceHappenWhereTheVocabularyHasThem) {
  const std::string vocab = R"({"a": 0, "▁": 1, "<unk>": 2, "a▁": 3, "▁a": 4, "▁▁": 5})";
  const auto encode = [&](const std::string& merges, const std::string& options) {
    return Parse(TokenizerJson(vocab, merges, "", options))->Encode("▁a▁a▁x▁");
  };
  EXPECT_THAT(encode(R"(["▁ a", "a ▁"])", R"("unk_token": "<unk>")"), ElementsAre(4, 4, 1, 2, 1));
  EXPECT_THAT(encode(R"(["a ▁", "▁ a"])", R"("unk_token": "<unk>")"), ElementsAre(1, 3, 3, 2, 1));
  EXPECT_THAT(encode(R"(["▁ ▁"])", ""), ElementsAre(1, 0, 1, 0, 5));  // x vanished
}

TEST(TokenizerJson, WordsOfAnyLengthMergeAlike) {
  const std::string tokenizer =
      TokenizerJson(R"({"a": 0, "aa": 1, "aaaa": 2})", R"(["a a", "aa aa"])");
  for (const int count : {31, 32, 33, 64, 65}) {
    std::vector<int32_t> expected(count / 4, 2);
    if (count % 4 >= 2) expected.push_back(1);
    if (count % 2 == 1) expected.push_back(0);
    EXPECT_EQ(Parse(tokenizer)->Encode(std::string(count, 'a')), expected) << count;
  }
}

TEST(TokenizerJson, UnknownCharactersVanishOrBecomeUnk) {
  EXPECT_THAT(Encode("", "axyb"), ElementsAre(3));
  EXPECT_THAT(Encode("", "axyb", R"("unk_token": "<unk>")"), ElementsAre(0, 7, 7, 1));
  EXPECT_THAT(Encode("", "axyb", R"("unk_token": "<unk>", "fuse_unk": true)"),
              ElementsAre(0, 7, 1));
}

TEST(TokenizerJson, ByteFallbackNeedsAllBytesOfACharacter) {
  const std::string vocab = R"({"a": 0, "<0xC3>": 1, "<0xA9>": 2, "<unk>": 3})";
  const auto tokenizer =
      Parse(TokenizerJson(vocab, "[]", "", R"("byte_fallback": true, "unk_token": "<unk>")"));
  EXPECT_THAT(tokenizer->Encode("aéè"), ElementsAre(0, 1, 2, 3));
}

TEST(TokenizerJson, IgnoreMergesTakesAWholeWord) {
  EXPECT_THAT(Encode("", "▁a"), ElementsAre(5, 0));
  EXPECT_THAT(Encode("", "▁a", R"("ignore_merges": true)"), ElementsAre(6));
}

TEST(TokenizerJson, NormalizersPrependAndReplace) {
  const std::string normalizer =
      R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"},
      {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]})";
  EXPECT_THAT(Encode(normalizer, "ab c"), ElementsAre(5, 3, 5, 2));
  EXPECT_THAT(Encode(normalizer, ""), ElementsAre());
  EXPECT_THAT(
      Encode(R"("normalizer": {"type": "Replace", "pattern": {"Regex": "x+"}, "content": "b"})",
             "axxxc"),
      ElementsAre(4));
}

TEST(TokenizerJson, NfcComposesBeforeWordsAreLookedUp) {
  const std::string vocab = R"({"e": 0, "\u0301": 1, "é": 2})";
  const std::string text = "e\u0301";
  EXPECT_THAT(Parse(TokenizerJson(vocab, "[]", ""))->Encode(text), ElementsAre(0, 1));
  EXPECT_THAT(Parse(TokenizerJson(vocab, "[]", R"("normalizer": {"type": "NFC"})"))->Encode(text),
              ElementsAre(2));
}

TEST(TokenizerJson, MetaspaceSchemesDecideThePrefix) {
  const auto metaspace = [](const std::string& more) {
    return R"("pre_tokenizer": {"type": "Metaspace", "replacement": "▁")" + more + "}";
  };
  EXPECT_THAT(Encode(metaspace(""), "a b"), ElementsAre(5, 0, 5, 1));
  EXPECT_THAT(Encode(metaspace(R"(, "prepend_scheme": "never")"), "a b"), ElementsAre(0, 5, 1));
  EXPECT_THAT(Encode(metaspace(R"(, "add_prefix_space": false)"), "a b"), ElementsAre(0, 5, 1));
  const std::string added =
      R"("added_tokens": [{"id": 20, "content": "<s>", "normalized": false}], )";
  EXPECT_THAT(Encode(added + metaspace(R"(, "prepend_scheme": "first")"), "a<s>a"),
              ElementsAre(5, 0, 20, 0));
  EXPECT_THAT(Encode(added + metaspace(R"(, "prepend_scheme": "always")"), "a<s>a"),
              ElementsAre(5, 0, 20, 5, 0));
}

// Mistral's v0.3 is of this form. The ids are those of the library "tokenizers".
TEST(TokenizerJson, MetaspaceWithoutASplitMergesAcrossWords) {
  const std::string vocab = R"({"a": 0, "▁": 1, "<unk>": 2, "a▁": 3, "▁a": 4})";
  const auto encode = [&](const std::string& split) {
    return Parse(TokenizerJson(vocab, R"(["a ▁", "▁ a"])",
                               R"("pre_tokenizer": {"type": "Metaspace", "replacement": "▁",)"
                               R"("prepend_scheme": "first", "split": )" +
                                   split + "}"))
        ->Encode("a a");
  };
  EXPECT_THAT(encode("true"), ElementsAre(4, 4));
  EXPECT_THAT(encode("false"), ElementsAre(1, 3, 0));
}

TEST(TokenizerJson, SplitBehaviorsDecideWhereWordsEnd) {
  const auto split = [](const std::string& behavior, const std::string& more = "") {
    return R"("pre_tokenizer": {"type": "Split", "pattern": {"String": "b"}, "behavior": ")" +
           behavior + "\"" + more + "}";
  };
  EXPECT_THAT(Encode(split("Isolated"), "abc"), ElementsAre(0, 1, 2));
  EXPECT_THAT(Encode(split("Removed"), "abc"), ElementsAre(0, 2));
  EXPECT_THAT(Encode(split("Removed", R"(, "invert": true)"), "abc"), ElementsAre(1));
  EXPECT_THAT(Encode(split("MergedWithPrevious"), "abc"), ElementsAre(3, 2));
  EXPECT_THAT(Encode(split("MergedWithNext"), "abc"), ElementsAre(0, 9));
  EXPECT_THAT(Encode(split("Contiguous"), "abbc"), ElementsAre(0, 1, 1, 2));
}

TEST(TokenizerJson, AddedTokensHonourTheirFlags) {
  const auto added = [](const std::string& flags) {
    return R"("added_tokens": [{"id": 20, "content": "ca", "normalized": false)" + flags + "}]";
  };
  EXPECT_THAT(Encode(added(""), "bcab"), ElementsAre(1, 20, 1));
  EXPECT_THAT(Encode(added(R"(, "single_word": true)"), "bca ca"), ElementsAre(9, 0, 8, 20));
  EXPECT_THAT(Encode(added(R"(, "lstrip": true)"), "b  ca b"), ElementsAre(1, 20, 8, 1));
  EXPECT_THAT(Encode(added(R"(, "rstrip": true)"), "b ca  b"), ElementsAre(1, 8, 20, 1));
}

TEST(TokenizerJson, TheLongestAddedTokenIsTaken) {
  EXPECT_THAT(
      Encode(R"("added_tokens": [{"id": 20, "content": "ca"}, {"id": 21, "content": "cab"}])",
             "cacab"),
      ElementsAre(20, 21));
}

TEST(TokenizerJson, AnAddedTokenOfTheVocabularyKeepsItsIdThere) {
  EXPECT_THAT(Encode(R"("added_tokens": [{"id": 20, "content": "abc"}])", "abc"), ElementsAre(4));
}

TEST(TokenizerJson, IllFormedTextCountsAsReplacementCharacters) {
  const auto tokenizer = Parse(ByteTokenizerJson());
  EXPECT_EQ(tokenizer->Encode("a\xFF\xE2\x96z"), tokenizer->Encode("a\uFFFD\uFFFDz"));
}

TEST(TokenizerJson, DecodingGivesTheTextBack) {
  const auto tokenizer = Parse(ByteTokenizerJson());
  const std::string text = "Grüße,\n 😀<|end|>\t漢";
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode(text)), text);
  EXPECT_EQ(tokenizer->Decode(std::vector<int32_t>{-1, 'a', 1000, 0xE2}), "a\uFFFD");
  EXPECT_EQ(tokenizer->vocab_size(), 257);
}

TEST(TokenizerJson, LlamasDecoderUndoesSpacesBytesAndPrefix) {
  const std::string decoder = R"("decoder": {"type": "Sequence", "decoders": [
      {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
      {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})";
  const std::string vocab = R"({"▁a": 0, "▁": 1, "<0xC3>": 2, "<0xA9>": 3, "b": 4})";
  const auto tokenizer = Parse(TokenizerJson(vocab, "[]", decoder));
  EXPECT_EQ(tokenizer->Decode(std::vector<int32_t>{0, 1, 2, 3, 4, 2}), "a éb\uFFFD");
}

TEST(TokenizerJson, UnsupportedComponentsAreRefusedByPathAndName) {
  const auto with = [](const std::string& more) {
    return MessageOf(TokenizerJson(kVocab, kMerges, more));
  };
  EXPECT_THAT(with(R"("normalizer": {"type": "Sequence", "normalizers": [{"type": "NFKC"}]})"),
              HasSubstr("t.json: normalizer.normalizers[0].type: \"NFKC\""));
  EXPECT_THAT(with(R"("pre_tokenizer": {"type": "BertPreTokenizer"})"),
              HasSubstr("pre_tokenizer.type: \"BertPreTokenizer\""));
  EXPECT_THAT(with(R"("decoder": {"type": "WordPiece"})"),
              HasSubstr("decoder.type: \"WordPiece\""));
  EXPECT_THAT(
      with(
          R"("pre_tokenizer": {"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}, {"type": "Digits"}]})"),
      HasSubstr("pre_tokenizer.pretokenizers[1]: \"Digits\" after ByteLevel"));
  EXPECT_THAT(
      with(
          R"("pre_tokenizer": {"type": "Split", "behavior": "Isolated", "pattern": {"Regex": "("}})"),
      HasSubstr("pre_tokenizer.pattern: regular expression '('"));
  EXPECT_THAT(MessageOf(R"({"model": {"type": "Unigram"}})"),
              HasSubstr("t.json: model.type: \"Unigram\""));
  EXPECT_THAT(MessageOf(TokenizerJson(kVocab, kMerges, "", R"("dropout": 0.1)")),
              HasSubstr("model.dropout: 0.1"));
  EXPECT_THAT(MessageOf(TokenizerJson(kVocab, kMerges, "", R"("end_of_word_suffix": "</w>")")),
              HasSubstr("model.end_of_word_suffix"));
}

TEST(TokenizerJson, BrokenModelsAreNamed) {
  EXPECT_THAT(MessageOf("{}"), HasSubstr("t.json: model: missing"));
  EXPECT_THAT(MessageOf(TokenizerJson(R"({"a": -1})", "[]")),
              HasSubstr("vocabulary entry \"a\": -1"));
  EXPECT_THAT(MessageOf(TokenizerJson(R"({"a": 0})", R"(["a"])")), HasSubstr("merges[0]: \"a\""));
  EXPECT_THAT(MessageOf(TokenizerJson(R"({"a": 0})", R"(["a a"])")),
              HasSubstr("'aa' is not in the vocabulary"));
  EXPECT_THAT(MessageOf(TokenizerJson(R"({"a": 0})", "[]", "", R"("unk_token": "u")")),
              HasSubstr("unk_token 'u'"));
}

TEST(VocabAndMerges, CommentsAndLineEndsAreNoMerges) {
  auto tokenizer = ParseVocabAndMerges(
      R"({"a": 0, "b": 1, "ab": 2, "<|endoftext|>": 3})", "#version: 0.2\r\na b\r\n", "dir",
      {.beside = {.named = {{.id = -1, .content = "<|endoftext|>"}}}});
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_THAT((*tokenizer)->Encode("ab<|endoftext|>a"), ElementsAre(2, 3, 0));
  EXPECT_THAT(ParseVocabAndMerges("{}", "a b c\n", "dir").error().message,
              HasSubstr("dir (merges): line 1"));
}

TEST(LoadTokenizer, ADirectoryWithoutOneIsNotFound) {
  const ScratchDirectory scratch;
  EXPECT_EQ(LoadTokenizer(scratch.path()).error().code, base::Code::kNotFound);
  scratch.Write("vocab.json", "{}");
  EXPECT_EQ(LoadTokenizer(scratch.path()).error().code, base::Code::kNotFound);
}

}  // namespace
}  // namespace trainctl::data
