// LitGPT's names and packing of a LLaMA's tensors → Hugging Face's
// (litgpt/scripts/convert_lit_checkpoint.py and convert_hf_checkpoint.py, LitGPT 0.5):
// attn.qkv.weight is all q rows, then k, then v; the older attn.attn.weight has them by query
// group: q … q k v of group 0, …
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/model/model_shape.h"

namespace trainctl::files {

// Rows [row, row + rows) of LitGPT's tensor.
struct RowRun {
  int64_t row = 0;
  int64_t rows = 0;
};

// A Hugging Face tensor made of runs of one of LitGPT's; no runs: the whole of it.
struct LitGptPart {
  std::string name;
  std::vector<RowRun> runs;
};

// nullopt: a name that a LLaMA of LitGPT does not have.
std::optional<std::vector<LitGptPart>> FromLitGpt(std::string_view name,
                                                  const job::ModelShape& shape);

}  // namespace trainctl::files
