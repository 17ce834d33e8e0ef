// The sizes of a model, as its config.json gives them (worker/rank/files/model_config.h reads it).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainctl::job {

// transformers' rope_type. kDynamic changes rows beyond max_positions only.
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

// A decoder of one of the families of model_description.h: of LLaMA's structure, or OPT. Sizes in
// elements.
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
  bool out_bias = false;       // of attention's output
  bool mlp_bias = false;       // of all three matrices
  bool head_norms = false;     // RMSNorm of each head of q and k
  int64_t sliding_window = 0;  // positions that one attends to, itself included; 0: all
  double dropout = 0;  // in training, of what attention and FFN add to the hidden states: OPT
};

}  // namespace trainctl::job
