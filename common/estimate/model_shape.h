// The shape of a model, as its config.json gives it (worker/rank/files/model_config.h reads it),
// and what an inspection of model and data found.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/job/output_folder.h"

namespace trainctl::job {

// The LLaMA family. Sizes in elements.
struct ModelShape {
  std::string family = "llama";
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

  int64_t BlockParameters() const {
    return hidden * head_dim * (2 * heads + 2 * kv_heads) + 3 * hidden * intermediate + 2 * hidden;
  }
  int64_t Parameters() const {
    return layers * BlockParameters() + vocab * hidden * (tied_head ? 1 : 2) + hidden;
  }
};

// What `trainrank --inspect` prints (memory_estimate.h has its JSON), before anything runs.
struct Inspection {
  ModelShape model;
  int64_t rows = 0;                    // of the data file, after max_rows
  int64_t longest_row = 0;             // tokens, after truncation to max_seq_length
  int64_t total_tokens = 0;            // of those rows
  std::string data_digest;             // of the data file's bytes: equal digests are equal data
  std::optional<OutputFolder> output;  // of a job that writes there
};

}  // namespace trainctl::job
