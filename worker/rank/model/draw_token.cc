#include "worker/rank/model/draw_token.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <vector>

namespace trainctl::model {
namespace {

// The least probability that may be drawn.
double LeastOf(std::span<const double> probabilities, const DrawLimits& limits) {
  std::vector<double> falling(probabilities.begin(), probabilities.end());
  if (limits.top_k > 0 && limits.top_k < std::ssize(falling)) {
    const auto last = falling.begin() + limits.top_k - 1;
    std::ranges::nth_element(falling, last, std::greater<>());
    const double least = *last;
    std::erase_if(falling, [least](double p) { return p < least; });
  }
  if (limits.top_p >= 1) return *std::ranges::min_element(falling);
  std::ranges::sort(falling, std::greater<>());
  const double wanted = limits.top_p * std::accumulate(falling.begin(), falling.end(), 0.0);
  double sum = 0;
  for (const double p : falling) {
    sum += p;
    if (sum >= wanted) return p;
  }
  return falling.back();
}

}  // namespace

int64_t DrawToken(std::span<const double> probabilities, const DrawLimits& limits, double point) {
  const bool takes_all = limits.top_k == 0 && limits.top_p >= 1;
  const double least = takes_all ? 0 : LeastOf(probabilities, limits);
  const auto may_be_drawn = [least](double p) { return p > 0 && p >= least; };
  double share = 1;
  if (!takes_all) {
    share = 0;
    for (const double p : probabilities) share += may_be_drawn(p) ? p : 0;
  }
  double sum = 0;
  int64_t last = 0;
  for (int64_t token = 0; token < std::ssize(probabilities); ++token) {
    const double p = probabilities[static_cast<size_t>(token)];
    if (!may_be_drawn(p)) continue;
    last = token;
    sum += p;
    if (sum > point * share) break;
  }
  return last;
}

}  // namespace trainctl::model
