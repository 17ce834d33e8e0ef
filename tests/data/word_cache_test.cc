#include "worker/rank/tokenizer/word_cache.h"

#include <gmock/gmock.h>

#include <atomic>
#include <thread>

namespace trainctl::data {
namespace {

TEST(WordCache, AKeptWordIsAppended) {
  WordCache cache;
  std::vector<int32_t> ids = {1};
  EXPECT_FALSE(cache.Append("word", &ids));
  cache.Keep("word", std::vector<int32_t>{2, 3});
  EXPECT_TRUE(cache.Append("word", &ids));
  EXPECT_THAT(ids, testing::ElementsAre(1, 2, 3));
}

TEST(WordCache, EveryKeptWordHasItsOwnIds) {
  WordCache cache;
  for (int32_t i = 0; i < 50'000; ++i)
    cache.Keep(std::to_string(i), std::vector<int32_t>{i, i + 1});
  for (int32_t i = 0; i < 50'000; ++i) {
    std::vector<int32_t> ids;
    ASSERT_TRUE(cache.Append(std::to_string(i), &ids));
    ASSERT_THAT(ids, testing::ElementsAre(i, i + 1));
  }
}

// What a thread finds is whole, while others keep words and tables grow.
TEST(WordCache, ThreadsFindWhatOthersKeep) {
  constexpr int32_t kWords = 20'000, kThreads = 4;
  WordCache cache;
  std::atomic<int64_t> found = 0, wrong = 0;
  const auto work = [&](int32_t first) {
    std::vector<int32_t> ids;
    for (int32_t i = first; i < first + 2 * kWords; ++i) {
      const int32_t number = i % kWords;
      const std::string word = "word " + std::to_string(number);
      ids.clear();
      if (!cache.Append(word, &ids)) {
        cache.Keep(word, std::vector<int32_t>{number, -number});
      } else {
        ++found;
        if (ids != std::vector<int32_t>{number, -number}) ++wrong;
      }
    }
  };
  std::vector<std::thread> threads;
  for (int32_t i = 0; i < kThreads; ++i) threads.emplace_back(work, i * kWords / kThreads);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GE(found, kWords * kThreads);
}

TEST(WordCache, LongWordsAreNotKept) {
  WordCache cache;
  std::vector<int32_t> ids;
  const std::string word(1000, 'x');
  cache.Keep(word, std::vector<int32_t>{1});
  EXPECT_FALSE(cache.Append(word, &ids));
}

TEST(WordCache, AFullCacheKeepsWhatItHas) {
  WordCache cache;
  for (int32_t i = 0; i < 300'000; ++i) cache.Keep(std::to_string(i), std::span(&i, 1));
  std::vector<int32_t> ids;
  EXPECT_TRUE(cache.Append("0", &ids));
  EXPECT_FALSE(cache.Append("299999", &ids));
}

}  // namespace
}  // namespace trainctl::data
