#include "worker/data/word_cache.h"

#include <gmock/gmock.h>

namespace trainctl::data {
namespace {

TEST(WordCache, AKeptWordIsAppended) {
  WordCache cache;
  std::vector<int32_t> ids = {1};
  EXPECT_FALSE(cache.Append("word", &ids));
  cache.Keep("word", {2, 3});
  EXPECT_TRUE(cache.Append("word", &ids));
  EXPECT_THAT(ids, testing::ElementsAre(1, 2, 3));
}

TEST(WordCache, LongWordsAreNotKept) {
  WordCache cache;
  std::vector<int32_t> ids;
  const std::string word(1000, 'x');
  cache.Keep(word, {1});
  EXPECT_FALSE(cache.Append(word, &ids));
}

TEST(WordCache, AFullCacheKeepsWhatItHas) {
  WordCache cache;
  for (int i = 0; i < 100'000; ++i) cache.Keep(std::to_string(i), {i});
  std::vector<int32_t> ids;
  EXPECT_TRUE(cache.Append("0", &ids));
  EXPECT_FALSE(cache.Append("99999", &ids));
}

}  // namespace
}  // namespace trainctl::data
