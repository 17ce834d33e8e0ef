#include <gmock/gmock.h>

#include <bit>

#include "common/base/file.h"
#include "tests/checkout.h"
#include "worker/rank/tokenizer/charsmap.h"
#include "worker/rank/tokenizer/sentencepiece_model.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Protobuf by hand: tag and length, or tag and one-byte varint.
std::string Message(int number, const std::string& bytes) {
  std::string tag(1, static_cast<char>(number << 3 | 2));
  return tag + static_cast<char>(bytes.size()) + bytes;
}
std::string Number(int number, int value) {
  const int tag = number << 3;
  std::string field(1, static_cast<char>(tag >= 128 ? (tag & 127) | 128 : tag));
  if (tag >= 128) field += static_cast<char>(tag >> 7);
  return field + static_cast<char>(value);
}
std::string Piece(const std::string& text, float score, PieceType type) {
  const auto bits = std::bit_cast<uint32_t>(score);
  std::string little_endian;
  for (int i = 0; i < 4; ++i) little_endian += static_cast<char>(bits >> (8 * i));
  return Message(1, Message(1, text) + "\x15" + little_endian + Number(3, static_cast<int>(type)));
}

constexpr int kBpe = 2, kUnigram = 1;

std::string Model(const std::string& pieces, int type = kBpe, const std::string& trainer = "",
                  const std::string& normalizer = "") {
  return pieces + Message(2, Number(3, type) + trainer) + Message(3, normalizer);
}

const std::string kPieces =
    Piece("<unk>", 0, PieceType::kUnknown) + Piece("<s>", 0, PieceType::kControl) +
    Piece("▁a", -1, PieceType::kNormal) + Piece("ab", -0.5, PieceType::kNormal) +
    Piece("▁", -9, PieceType::kNormal) + Piece("a", -9, PieceType::kNormal) +
    Piece("b", -9, PieceType::kNormal) + Piece("<x>", 0, PieceType::kUserDefined);

std::vector<int32_t> EncodeWith(const std::string& model, std::string_view text,
                                const SentencePieceOptions& options = {}) {
  auto tokenizer = ParseSentencePieceModel(model, "t.model", options);
  EXPECT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  return (*tokenizer)->Encode(text);
}

std::string ModelMessageOf(const std::string& model) {
  auto tokenizer = ParseSentencePieceModel(model, "t.model");
  return tokenizer.ok() ? "accepted" : tokenizer.error().message;
}

TEST(SentencePiece, HigherScoresMergeFirst) {
  EXPECT_THAT(EncodeWith(Model(kPieces), "ab a"), ElementsAre(4, 3, 2));
}

TEST(SentencePiece, MergesAcrossASpaceHappenWhereThereIsSuchAPiece) {
  EXPECT_THAT(EncodeWith(Model(kPieces), "b b"), ElementsAre(4, 6, 4, 6));
  EXPECT_THAT(EncodeWith(Model(kPieces + Piece("b▁", -0.1f, PieceType::kNormal)), "b b"),
              ElementsAre(4, 8, 6));
}

TEST(SentencePiece, UserDefinedSymbolsAreFoundAndControlSymbolsAreNot) {
  EXPECT_THAT(EncodeWith(Model(kPieces), "a<x>b"), ElementsAre(2, 7, 6));
  EXPECT_THAT(EncodeWith(Model(kPieces), "<s>"), ElementsAre(4, 0));
}

TEST(SentencePiece, AddedTokensAreFoundBeforeThePieces) {
  const std::string model = Model(kPieces, kBpe, "", Number(4, 0));
  SentencePieceOptions options{
      .beside = {.listed = {{.id = 9, .content = "<i>", .normalized = false},
                            {.id = 10, .content = "<l>", .lstrip = true, .special = false}},
                 .named = {{.id = -1, .content = "<e>", .normalized = false}}}};
  EXPECT_THAT(EncodeWith(model, "a<i>ab <l>b<e>", options), ElementsAre(2, 9, 3, 10, 6, 11));
  EXPECT_THAT(EncodeWith(model, "<s><x>a", options), ElementsAre(4, 0, 7, 5));
  options.has_own_tokens = true;
  EXPECT_THAT(EncodeWith(model, "<s><x>a<i>a", options), ElementsAre(1, 7, 5, 9, 5));
  options.adds_each_prefix = true;
  EXPECT_THAT(EncodeWith(model, "a<i>a", options), ElementsAre(2, 9, 2));
  options.adds_prefix = false;
  EXPECT_THAT(EncodeWith(model, "a<i>a", options), ElementsAre(5, 9, 5));
}

TEST(SentencePiece, AddedTokensHaveTextAndIds) {
  const auto tokenizer = ParseSentencePieceModel(
      Model(kPieces), "t.model",
      {.beside = {.listed = {{.id = 9, .content = "<i>"},
                             {.id = 10, .content = "<j>", .special = false}}},
       .has_own_tokens = true});
  ASSERT_TRUE(tokenizer.ok()) << tokenizer.error().message;
  EXPECT_EQ((*tokenizer)->Decode(std::vector<int32_t>{1, 2, 8, 9, 10, 11}), "<s> a<i><j>");
  EXPECT_EQ((*tokenizer)->IdOf("<i>"), 9);
  EXPECT_EQ((*tokenizer)->vocab_size(), 11);
  EXPECT_TRUE((*tokenizer)->IsSpecial(1) && (*tokenizer)->IsSpecial(9));
  EXPECT_FALSE((*tokenizer)->IsSpecial(10) || (*tokenizer)->IsSpecial(7));
}

TEST(SentencePiece, ExtraSpacesGoUnlessTheyAreKept) {
  EXPECT_THAT(EncodeWith(Model(kPieces), "  a   b "), ElementsAre(2, 4, 6));
  EXPECT_THAT(EncodeWith(Model(kPieces, kBpe, "", Number(4, 0)), " a  "), ElementsAre(4, 2, 4, 4));
  EXPECT_THAT(EncodeWith(Model(kPieces, kBpe, "", Number(3, 0)), "a"), ElementsAre(5));
}

TEST(SentencePiece, UnknownCharactersAreOnePieceOrBytes) {
  EXPECT_THAT(EncodeWith(Model(kPieces), "azzb"), ElementsAre(2, 0, 6));
  const std::string bytes = Piece("<0x7A>", 0, PieceType::kByte);
  EXPECT_THAT(EncodeWith(Model(kPieces + bytes, kBpe, Number(35, 1)), "azzb"),
              ElementsAre(2, 8, 8, 6));
}

TEST(SentencePiece, DecodingJoinsPiecesAndBytes) {
  const std::string bytes =
      Piece("<0xC3>", 0, PieceType::kByte) + Piece("<0xA9>", 0, PieceType::kByte);
  auto tokenizer = ParseSentencePieceModel(Model(kPieces + bytes), "t.model");
  EXPECT_EQ((*tokenizer)->Decode(std::vector<int32_t>{1, 2, 3, 4, 8, 9, 7}), "aab é<x>");
  EXPECT_EQ((*tokenizer)->vocab_size(), 10);
}

TEST(SentencePiece, WhatIsNotSupportedIsRefusedByName) {
  EXPECT_THAT(ModelMessageOf(Model(kPieces, kUnigram)),
              HasSubstr("t.model: trainer_spec.model_type UNIGRAM"));
  EXPECT_THAT(ModelMessageOf(Model(kPieces + Piece("u", 0, PieceType::kUnused))),
              HasSubstr("piece 8 ('u') is of type UNUSED"));
  EXPECT_THAT(ModelMessageOf(Model(kPieces + Piece("a", 0, PieceType::kNormal))),
              HasSubstr("piece 'a' stands twice"));
  EXPECT_THAT(ModelMessageOf(kPieces), HasSubstr("no trainer_spec"));
  EXPECT_THAT(ModelMessageOf(""), HasSubstr("no pieces"));
  EXPECT_THAT(ModelMessageOf("not a model"), HasSubstr("not a SentencePiece model"));
  EXPECT_THAT(ModelMessageOf(Model(kPieces, kBpe, "", Message(2, "abc"))),
              HasSubstr("precompiled_charsmap"));
}

TEST(Charsmap, TheLongestRuleApplies) {
  const std::string path =
      checkout::File("tests/baselines/tokenizers/sentencepiece_nfkc/tokenizer.model");
  const auto model = ReadSentencePieceModel(base::ReadFile(path, 1 << 20).value(), path).value();
  const auto charsmap = Charsmap::Parse(model.precompiled_charsmap).value();
  EXPECT_EQ(charsmap.Longest("ﬁx").replacement, "fi");
  EXPECT_EQ(charsmap.Longest("e\u0301x").replacement, "é");
  EXPECT_EQ(charsmap.Longest("e\u0301x").length, 3u);
  EXPECT_EQ(charsmap.Longest("x").length, 0u);
  EXPECT_EQ(charsmap.Longest("").length, 0u);
}

}  // namespace
}  // namespace trainctl::data
