// Draws a token by its probability.
#pragma once

#include <cstdint>
#include <span>

namespace trainctl::model {

// Which tokens may be drawn: those that both limits keep, as transformers' top_k and top_p do.
// Tokens as likely as the last one that is kept are kept too.
struct DrawLimits {
  int64_t top_k = 0;  // the likeliest ones, so many; 0: all
  double top_p = 1;   // the likeliest ones, until their share of what top_k keeps reaches it; from
                      // 1 on: all. One token stays at least.
};

// The first token whose share of what may be drawn, with those before it, is above `point` of
// [0, 1). Probabilities sum to 1; there is one at least.
int64_t DrawToken(std::span<const double> probabilities, const DrawLimits& limits, double point);

}  // namespace trainctl::model
