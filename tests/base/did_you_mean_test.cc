#include "common/base/did_you_mean.h"

#include <gtest/gtest.h>

#include <array>

namespace trainctl::base {
namespace {

constexpr std::array<std::string_view, 5> kKeys = {"micro_batch_size", "global_batch_size",
                                                   "epochs", "max_steps", "lr"};

TEST(Closest, FindsAMissingLetter) {
  EXPECT_EQ(Closest("micro_bach_size", kKeys), "micro_batch_size");
}

TEST(Closest, FindsSwappedNeighbours) { EXPECT_EQ(Closest("ephocs", kKeys), "epochs"); }

TEST(Closest, TakesLetterCaseForNothing) { EXPECT_EQ(Closest("LR", kKeys), "lr"); }

TEST(Closest, AlwaysAllowsOneEdit) { EXPECT_EQ(Closest("l", kKeys), "lr"); }

TEST(Closest, IsNothingWhereAllAreFar) {
  EXPECT_EQ(Closest("precision", kKeys), std::nullopt);
  EXPECT_EQ(Closest("", kKeys), std::nullopt);
}

TEST(Closest, IsTheFirstOfEquals) {
  constexpr std::array<std::string_view, 2> twins = {"abc1", "abc2"};
  EXPECT_EQ(Closest("abc", twins), "abc1");
}

TEST(Closest, GivesUpOnOverlongNames) {
  const std::string name(65, 'a');
  const std::array<std::string_view, 1> same = {name};
  EXPECT_EQ(Closest(name, same), std::nullopt);
}

TEST(DidYouMean, IsAQuestionOrNothing) {
  EXPECT_EQ(DidYouMean("epoch", kKeys), "did you mean 'epochs'?");
  EXPECT_EQ(DidYouMean("zzzzzz", kKeys), "");
}

TEST(DidYouMean, TakesTheBeginningOfOneNameOnly) {
  EXPECT_EQ(DidYouMean("micro", kKeys), "did you mean 'micro_batch_size'?");
  EXPECT_EQ(DidYouMean("GLOB", kKeys), "did you mean 'global_batch_size'?");
  EXPECT_EQ(DidYouMean("m", kKeys), "");
  constexpr std::array<std::string_view, 2> several = {"micro_batch_size", "micro_batch_tokens"};
  EXPECT_EQ(DidYouMean("micro", several), "");
}

TEST(WithHint, TellsMoreBehindTheQuestionOrTheFault) {
  EXPECT_EQ(WithHint("no key 'lt'", DidYouMean("lt", kKeys), "see: --help"),
            "no key 'lt': did you mean 'lr'? (see: --help)");
  EXPECT_EQ(WithHint("no key 'x-ray'", DidYouMean("x-ray", kKeys), "see: --help"),
            "no key 'x-ray'; see: --help");
}

}  // namespace
}  // namespace trainctl::base
