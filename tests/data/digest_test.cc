#include "worker/data/digest.h"

#include <gtest/gtest.h>

#include <string_view>

namespace trainctl::data {
namespace {

std::string DigestOf(std::string_view text) { return Digest(std::as_bytes(std::span(text))); }

// From the xxHash project and its Python binding.
TEST(Digest, GivesThePublishedHashes) {
  EXPECT_EQ(DigestOf(""), "xxh64:ef46db3751d8e999");
  EXPECT_EQ(DigestOf("a"), "xxh64:d24ec4f1a98c6e5b");
  EXPECT_EQ(DigestOf("abc"), "xxh64:44bc2cf5ad770999");
  EXPECT_EQ(DigestOf("Nobody inspects the spammish repetition"), "xxh64:fbcea83c8a378bf1");
}

}  // namespace
}  // namespace trainctl::data
