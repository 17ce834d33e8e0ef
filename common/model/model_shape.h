// The sizes of a model, as its config.json gives them (worker/rank/files/model_config.h reads it).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainctl::job {

// transformers' rope_type. kDynamic changes rows beyond max_positions only: by the length of the
// longest row that is computed with them.
enum class RopeType { kLinear, kDynamic, kLlama3, kYarn };
std::string_view Name(RopeType type);  // "llama3"
std::optional<RopeType> ParseRopeType(std::string_view name);

// How rotary frequencies are changed for texts longer than those of the pretraining.
struct RopeScaling {
  RopeType type = RopeType::kLinear;
  double factor = 1;
  int64_t original_positions = 0;    // of the pretraining: llama3, yarn
  double low_freq_factor = 1;        // llama3
  double high_freq_factor = 4;       //
  double beta_fast = 32;             // yarn
  double beta_slow = 1;              //
  double attention_factor = 1;       // of cosines and sines: yarn
  bool truncates_correction = true;  // yarn

  bool operator==(const RopeScaling&) const = default;
};

// The sizes of BLIP-2 (Li et al. 2023) before its decoder: a vision transformer, whose features the
// Q-Former's learned queries attend to.
struct ImageShape {
  int64_t side = 224;  // of a picture, in pixels
  int64_t patch = 14;  // of a square that becomes one position
  int64_t token = 0;   // the id that stands where the picture's rows go
  int64_t vision_layers = 0;
  int64_t vision_hidden = 0;
  int64_t vision_intermediate = 0;
  int64_t vision_heads = 0;
  bool vision_qkv_bias = true;
  double vision_norm_eps = 1e-6;
  int64_t queries = 0;
  int64_t qformer_layers = 0;
  int64_t qformer_hidden = 0;
  int64_t qformer_intermediate = 0;
  int64_t qformer_heads = 0;
  int64_t cross_every = 2;  // layers: the first of so many attends to the picture
  double qformer_norm_eps = 1e-12;
  double qformer_dropout = 0;            // in training, of hidden states
  double qformer_attention_dropout = 0;  // of attention's probabilities

  int64_t patches() const { return (side / patch) * (side / patch); }
  int64_t positions() const { return patches() + 1; }  // with that of the class

  bool operator==(const ImageShape&) const = default;
};

// A decoder of one of the families of model_description.h: of LLaMA's structure, or OPT. BLIP-2 is
// OPT behind an image. Sizes in elements.
struct ModelShape {
  std::string family = "llama";  // config.json's model_type
  int64_t layers = 0;
  int64_t hidden = 0;
  int64_t intermediate = 0;  // FFN width
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_dim = 0;
  int64_t vocab = 0;
  int64_t max_positions = 0;
  bool tied_head = false;
  double rope_theta = 10000;
  double norm_eps = 1e-5;
  int64_t bos_token = 1;  // -1: none
  int64_t eos_token = 2;
  std::optional<RopeScaling> rope_scaling = {};
  bool qkv_bias = false;
  bool out_bias = false;                  // of attention's output
  bool mlp_bias = false;                  // of all three matrices
  bool head_norms = false;                // RMSNorm of each head of q and k
  int64_t sliding_window = 0;             // positions that one attends to, itself included; 0: all
  std::vector<int64_t> full_layers = {};  // that have no window nonetheless, ascending
  double dropout = 0;  // in training, of what attention and FFN add to the hidden states: OPT
  std::optional<ImageShape> image = {};  // of BLIP-2

  int64_t WindowOf(int64_t layer) const;  // 0: none
  // Whether a row of this length reaches beyond a layer's window.
  bool IsLocalAt(int64_t length) const { return sliding_window > 0 && sliding_window < length; }
};

}  // namespace trainctl::job
