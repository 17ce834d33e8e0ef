// Memory by kind, predicted before launch by a pure function of job, model and data; the same taxonomy as is measured (outcome.h). For full
// fine-tuning under single and ddp. Thread-safe.
//
// Legend: N parameters, each tensor rounded up to 256 elements (padded); L layers, H hidden, F FFN width, V vocabulary, h and k heads and
// kv heads, D head_dim; n = micro_batch_size · T positions; e bytes of the compute dtype, s of the storage dtype (below).
//
//   precision     params                         s (gradients, moments)   e
//   32-true       4 N                            4                        4
//   bf16-true     2 N                            2                        2
//   bf16-mixed    6 N (fp32 master + bf16 copy)  4                        2
//
//   optimizer    AdamW 2 s N, SGD s N with momentum, else 0; allocated before the first step.
//   activations  saved of each block: n · (e · (2 H + (h + 2 k) D + h D + 2 F) + 4 · (2 + h)), which are block input, packed qkv,
//                attention output, residual stream between attention and FFN, gate and up; two rstd and the logsumexp in fp32. The head
//                saves its input, n e H.
//   grads        of units: embedding; block; head with the final norm. A tied embedding and head are one unit, alive from the head to the
//                end of the backward. Without accumulation and max_norm only the unit in backward has storage, under ddp also the one
//                being reduced. Otherwise all units' accumulated gradients have: with accumulation from the first micro step on, with
//                max_norm until the step's end.
//   head         normalized input and its gradient, 2 n e H, and chunks of 2,048 rows of logits: e V a row where fused, else with the fp32
//                temporaries of the reference loss.
//   block        working buffers of the backward: the fused SwiGLU's 4 F and 1 H of e a position, or the reference's fp32 temporaries.
//   norm         on steps that report the gradient norm: fp32 temporaries of one unit.
//   CPU slots    run the reference; bf16 matrices are multiplied in fp32 copies.
//
// peak = params + optimizer + the largest of: the head's backward (all activations), the last block's backward (all activations), the first
// block's (its own only), the embedding's. Workspaces of libraries are left out. The constants are in memory_estimate.cc.
#pragma once

#include <array>
#include <string>

#include "common/base/result.h"
#include "common/job/job.h"
#include "common/job/model_shape.h"
#include "common/job/outcome.h"
#include "common/job/rank_plan.h"

namespace trainctl::job {

struct MemoryEstimate {
  std::array<MemoryByKind, 4> phases;  // indexed by Phase, of the step that holds most; peak_allocated and reserved are the step's in each
  int64_t peak_allocated = 0;          // of one rank; what the caching allocator reserves is at least that
  int64_t sequence_length = 0;         // the T it was made for: min(max_seq_length, longest row), up to a multiple of 64
};

// strategy auto counts as what it resolves to, micro_batch_size "auto" as 1. An inspection without rows (longest_row 0): max_seq_length.
MemoryEstimate EstimateMemory(const JobSpec& job, const Inspection& inspection, DeviceKind device);

std::string ToJson(const MemoryEstimate& estimate);
base::Result<MemoryEstimate> MemoryEstimateFromJson(std::string_view text);

// {"model": {…}, "rows", "longest_row", "total_tokens", "data_digest"}
std::string ToJson(const Inspection& inspection);
base::Result<Inspection> InspectionFromJson(std::string_view text);

}  // namespace trainctl::job
