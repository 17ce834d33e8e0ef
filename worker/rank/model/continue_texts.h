// Continues texts with a model, token by token, over a cache of keys and values. Texts that are not
// at their end advance together. Forward only.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "common/model/model_shape.h"
#include "worker/rank/model/draw_token.h"
#include "worker/rank/model/model.h"
#include "worker/rank/ops/context.h"

namespace trainctl::model {

struct TextStart {
  std::vector<int32_t> ids;  // one or more
  at::Tensor image = {};     // [3, side, side] fp32, on the device: of a model of pictures, whose
                             // ids begin with its placeholders
};

struct Continuation {
  static constexpr int64_t kStop = -1;

  int64_t max_new_tokens = 64;
  double temperature = 0;           // 0: always the likeliest token
  DrawLimits limits = {};           // of the choice by temperature
  int64_t seed = 0;                 // of it
  std::vector<int64_t> stops = {};  // ids that end a text
  double repetition_penalty = 1;    // above 0: of each token that a text has, its start included;
                                    // logits above 0 are divided by it, others multiplied
  // Called with each choice [n] int64, on the device: all ranks that compute together then hold the
  // same in place. One that it fills with kStop ends all texts: none is returned.
  std::function<void(const at::Tensor& chosen)> agree = [](const at::Tensor&) {};
  // How many tokens are done of texts · max_new_tokens, those that are left out included.
  std::function<void(int64_t tokens)> progress = [](int64_t) {};
  // Called with what a text has so far, after each of its tokens; is_whole: there comes no more.
  std::function<void(size_t text, const std::vector<int32_t>& added, bool is_whole)> grown =
      [](size_t, const std::vector<int32_t>&, bool) {};
  // Of all texts that advance together; the others wait. One text may have more. 0: any number.
  int64_t positions_at_once = 0;
};

// The most positions that the model computes for one text; its rotary tables are longer. 0: as many
// as there is memory for.
int64_t MostPositions(const job::ModelShape& shape);

// What follows each text: at most max_new_tokens, and no position beyond MostPositions. A stop that
// ended it is its last token. Greedy choices are those of transformers' generate. By temperature a
// token is drawn by (seed, text, place): the same whenever logits are the same. A penalty comes
// before both. The model has
// ModelOptions::max_length for the longest text and its continuation. Under a strategy that gathers
// weights, every rank calls it alike.
std::vector<std::vector<int32_t>> ContinueTexts(const Model& model, const job::ModelShape& shape,
                                                ops::Context& context,
                                                const std::vector<TextStart>& texts,
                                                const Continuation& continuation,
                                                at::Device device);

}  // namespace trainctl::model
