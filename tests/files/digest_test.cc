#include "worker/rank/files/digest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

namespace trainctl::files {
namespace {

std::string DigestOf(std::string_view text) { return Digest(std::as_bytes(std::span(text))); }

// From the xxHash project and its Python binding.
TEST(Digest, GivesThePublishedHashes) {
  EXPECT_EQ(DigestOf(""), "xxh64:ef46db3751d8e999");
  EXPECT_EQ(DigestOf("a"), "xxh64:d24ec4f1a98c6e5b");
  EXPECT_EQ(DigestOf("abc"), "xxh64:44bc2cf5ad770999");
  EXPECT_EQ(DigestOf("Nobody inspects the spammish repetition"), "xxh64:fbcea83c8a378bf1");
}

TEST(Digest, OfPiecesIsThatOfTheWhole) {
  std::string text;
  for (int i = 0; i < 1000; ++i) text += std::to_string(i * i);
  const std::span<const std::byte> bytes = std::as_bytes(std::span(text));
  for (const size_t piece : {1, 7, 31, 32, 33, 64, 100, 999}) {
    Xxh64Stream stream;
    for (size_t at = 0; at < bytes.size(); at += piece)
      stream.Update(bytes.subspan(at, std::min(piece, bytes.size() - at)));
    EXPECT_EQ(stream.Digest(), Digest(bytes)) << piece;
  }
}

}  // namespace
}  // namespace trainctl::files
