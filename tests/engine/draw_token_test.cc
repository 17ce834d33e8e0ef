#include "worker/rank/model/draw_token.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace trainctl::model {
namespace {

const std::vector<double> kProbabilities = {0.125, 0.5, 0, 0.125, 0.25};

// How often each token comes of 1,000 points that lie evenly in [0, 1).
std::map<int64_t, int> Drawn(const DrawLimits& limits) {
  std::map<int64_t, int> drawn;
  for (int i = 0; i < 1000; ++i) ++drawn[DrawToken(kProbabilities, limits, i / 1000.0)];
  return drawn;
}

using Counts = std::map<int64_t, int>;

TEST(DrawToken, TakesEachAsOftenAsItsProbabilitySays) {
  EXPECT_EQ(Drawn({}), (Counts{{0, 125}, {1, 500}, {3, 125}, {4, 250}}));
}

TEST(DrawToken, TopKKeepsTheLikeliestAndWhatIsAsLikelyAsTheLast) {
  EXPECT_EQ(Drawn({.top_k = 1}), (Counts{{1, 1000}}));
  EXPECT_EQ(Drawn({.top_k = 2}), (Counts{{1, 667}, {4, 333}}));
  EXPECT_EQ(Drawn({.top_k = 3}), Drawn({}));
  EXPECT_EQ(Drawn({.top_k = 100}), Drawn({}));
}

// What is before a token, in falling order, is below the share: as transformers has it.
TEST(DrawToken, TopPKeepsTheLikeliestUntilTheirShareIsReached) {
  EXPECT_EQ(Drawn({.top_p = 0}), (Counts{{1, 1000}}));
  EXPECT_EQ(Drawn({.top_p = 0.5}), (Counts{{1, 1000}}));
  EXPECT_EQ(Drawn({.top_p = 0.51}), (Counts{{1, 667}, {4, 333}}));
  EXPECT_EQ(Drawn({.top_p = 0.75}), (Counts{{1, 667}, {4, 333}}));
  EXPECT_EQ(Drawn({.top_p = 0.76}), Drawn({}));
}

TEST(DrawToken, TopPIsOfWhatTopKKeeps) {
  EXPECT_EQ(Drawn({.top_k = 2, .top_p = 0.6}), (Counts{{1, 1000}}));
  EXPECT_EQ(Drawn({.top_k = 2, .top_p = 0.7}), (Counts{{1, 667}, {4, 333}}));
}

}  // namespace
}  // namespace trainctl::model
