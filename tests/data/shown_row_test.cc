#include "worker/rank/data/shown_row.h"

#include <gtest/gtest.h>

#include "tests/data/small_tokenizers.h"

namespace trainctl::data {
namespace {

// Rows of bytes.
Dataset BytesOf(const std::string& text, int64_t ignored = 0, std::vector<TokenSpan> spans = {}) {
  Dataset dataset;
  const auto length = static_cast<int64_t>(text.size());
  dataset.tokens = TokenStore(std::vector<int32_t>(text.begin(), text.end()));
  dataset.rows = {{0, length, ignored}};
  dataset.ignored = std::move(spans);
  return dataset;
}

std::string Shown(const Dataset& dataset) {
  const auto tokenizer = ParseTokenizerJson(ByteTokenizerJson(), "bytes").value();
  const job::ShownRow row = ShowRow(dataset, 0, *tokenizer);
  std::string text = std::to_string(row.trained) + " of " + std::to_string(row.tokens) + ": ";
  for (const job::RowPiece& piece : row.pieces)
    text += piece.trained ? "[" + piece.text + "]" : piece.text;
  return text;
}

TEST(ShowRow, MarksWhatCounts) {
  EXPECT_EQ(Shown(BytesOf("ask: yes", 5)), "3 of 8: ask: [yes]");
  EXPECT_EQ(Shown(BytesOf("ask: yes. ask: no.", 5, {{10, 15}})), "8 of 18: ask: [yes. ]ask: [no.]");
}

TEST(ShowRow, TheFirstTokenIsPredictedByNothing) {
  EXPECT_EQ(Shown(BytesOf("abc")), "2 of 3: a[bc]");
}

TEST(ShowRow, SpecialTokensAreSpelledOut) {
  Dataset dataset = BytesOf("ab");
  dataset.tokens = TokenStore(std::vector<int32_t>{'a', 256});
  EXPECT_EQ(Shown(dataset), "1 of 2: a[<|end|>]");
}

TEST(ShowRow, OfALongPieceTheMiddleIsLeftOut) {
  const std::string shown = Shown(BytesOf("?" + std::string(5000, 'x') + "!", 1));
  EXPECT_LT(shown.size(), kMostPieceBytes + 40);
  EXPECT_TRUE(shown.starts_with("5001 of 5002: ?[xxx"));
  EXPECT_TRUE(shown.ends_with("xxx!]"));
  EXPECT_NE(shown.find(" … "), std::string::npos);
}

TEST(ShowRow, OfManyPiecesTheFirstAreShown) {
  std::vector<TokenSpan> spans;
  for (int64_t i = 1; i < 50; ++i) spans.push_back({2 * i, 2 * i + 1});
  const std::string shown = Shown(BytesOf(std::string(100, 'x'), 1, spans));
  EXPECT_EQ(shown, "50 of 100: x[x]x[x]x[x]x[x]x[x]x[x … ]");
}

}  // namespace
}  // namespace trainctl::data
