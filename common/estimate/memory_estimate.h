// Memory by kind, predicted before launch by a pure function of job, model and data; the same
// taxonomy as is measured (outcome.h). Thread-safe.
//
// Legend: N parameters, each tensor rounded up to 256 elements (padded); L layers, H hidden, F FFN
// width, V vocabulary, h and k heads and kv heads, D head_dim; W devices; n = micro_batch_size · T
// positions; e bytes of the compute dtype, s of the storage dtype (below).
//
//   precision     trainable params               s (gradients, moments)   e (frozen params)
//   32-true       4 N                            4                        4
//   bf16-true     2 N                            2                        2
//   bf16-mixed    6 N (fp32 master + bf16 copy)  4                        2
//
//   frozen         with LoRA the base is frozen: e a parameter, no gradient, no moments. Trainable
//                  are A [r, in] and B [out, r] of each target.
//   freeze         the same of a part: e a parameter, and nothing more. Nothing is saved, and
//   nothing
//                  goes back, where nothing is trained in a unit or before.
//   pictures       BLIP-2 has units before the embedding: those of image_encoder.h, which says what
//                  each saves of a sample. Beside them are the fp32 picture and the gradient of
//                  its features. A block's backward works with 2 F and 1 H of e a position.
//   quantize       the matrices of the blocks are 4-bit codes: nf4 4.5, nf4-dq 4.127 bits a
//                  parameter. A unit's are unpacked into e a parameter while it is at work.
//   optimizer      AdamW 2 s N; SGD s N with momentum, else 0. AdamW in 8 bits 2 (1 + 4/256) a
//                  parameter, 8 in tensors below 4,096 elements. N counts what is trainable.
//                  Allocated before the first step.
//   offload        the device holds e a trainable parameter and no moments; optimizer_cpu is 12 N
//                  of host memory. Pinned staging buffers are not counted.
//   activations    saved of each block: n · (e · (2 H + (h + 2 k) D + h D + 2 F) + 4 · (2 + h)).
//                  The first sum is block input, packed qkv, attention output, residual stream
//                  between attention and FFN, gate and up. The second is two rstd and the
//                  logsumexp, in fp32. LoRA adds n e r for each adapted matrix. A head size that is
//                  no multiple of 8 adds, on GPUs, the padded attention output. A checkpointed
//                  block saves its input, n e H, and all of the above again during its own
//                  backward. The head saves its input, n e H.
//   grads          of units: embedding; block; head with the final norm. A tied embedding and head
//                  are one unit, alive from the head to the end of the backward. Without
//                  accumulation and max_norm only the unit in backward has storage. Under ddp and
//                  offload the one being reduced (copied) has it too. Otherwise all units'
//                  accumulated gradients have: with accumulation from the first micro step on, with
//                  max_norm until the step's end.
//   fsdp           params, moments and held gradients are 1/W, each unit padded to 256 W. Whole
//                  weights (e a parameter) of two units are alive: the one at work and the one
//                  fetched ahead. Under sharding grad_op each is alive from its first use to its
//                  last backward. Whole gradients of two units are alive, and one reduced shard.
//                  Gradients may be held whole over the micro steps (gradient_holding.h). Then
//                  those of all units are alive, and no held shards. fsdp_unit model: all whole
//                  weights, and whole gradients of all units that have gone back. With LoRA only
//                  the frozen weights are sharded and gathered; adapters are as under ddp. On one
//                  device nothing is sharded.
//   head           normalized input and its gradient, 2 n e H, and chunks of 2,048 rows of logits.
//                  A row is e V if fused, else with the fp32 temporaries of the reference loss.
//   block          working buffers of the backward: the fused SwiGLU's 4 F and 1 H of e a position,
//                  or the reference's fp32 temporaries. With LoRA on the matrix behind it: 5 F with
//                  dropout, 3 F without. The fused ReLU's 1 F and 1 H, or 2 F with that adapter's
//                  dropout; with the model's own dropout 1 H more.
//   deterministic  beside a unit's gradient those of all ranks, and their sum.
//   CPU slots      run the reference. bf16 matrices are multiplied in fp32 copies. optimizer_cpu is
//                  in the same memory and counts. The gradient norm has fp64 temporaries of a
//                  piece; AdamW in 8 bits has fp32 ones of a piece (memory_reference.h).
//   beside         token ids and targets, 16 n; rotary tables, 4 D for each position up to
//                  max_seq_length, or of the longest text of eval.prompts. Packed rows have 8 n of
//                  places, and 4 D n of those tables. The workspace of matrix products on GPUs, 32
//                  MiB.
//
// peak = params + optimizer + the largest over the moments of the backward: the head, each block,
// the embedding. An evaluation that continues eval.prompts is such a moment too
// (memory_continuing.h). Other libraries' workspaces are left out.
//
// Where it is worked out: memory_units (elements), memory_state (what is held), memory_activations,
// memory_encoder (pictures), memory_reference (the reference kernels), memory_step (moments).
#pragma once

#include <array>
#include <optional>
#include <string>

#include "common/base/result.h"
#include "common/estimate/inspection.h"
#include "common/job/job.h"
#include "common/job/outcome.h"
#include "common/rank/rank_plan.h"

namespace trainctl::job {

struct MemoryEstimate {
  std::array<MemoryByKind, 4> phases;  // indexed by Phase, of the step that holds most;
                                       // peak_allocated and reserved are the step's in each
  int64_t peak_allocated = 0;   // of one rank; what the caching allocator reserves is at least that
  int64_t sequence_length = 0;  // the T it was made for: min(max_seq_length, longest row or packed
                                // sequence, unless sampled), up to a multiple of 64
  std::optional<bool> holds_gradients;  // whole, over the micro steps (gradient_holding.h);
                                        // nullopt: the job has no such choice
  int64_t holding_bytes = 0;            // by which that raises the peak
};

// strategy auto counts as what it resolves to, micro_batch_size "auto" as 1. An inspection without
// rows (longest_row 0): max_seq_length. holds_gradients counts where the job has the choice.
MemoryEstimate EstimateMemory(const JobSpec& job, const Inspection& inspection, DeviceKind device,
                              bool holds_gradients = false);

// The T that a job's micro batches are padded to at most: of data that were sampled
// max_seq_length, where longer rows are cut.
int64_t SequenceLength(const JobSpec& job, const Inspection& inspection);

// Of training and validation rows; 0: unknown.
int64_t LongestRow(const Inspection& inspection);

std::string ToJson(const MemoryEstimate& estimate);
base::Result<MemoryEstimate> MemoryEstimateFromJson(std::string_view text);

// {"model": {…}, "rows", "longest_row", "total_tokens", "data_digest"}
std::string ToJson(const Inspection& inspection);
base::Result<Inspection> InspectionFromJson(std::string_view text);

}  // namespace trainctl::job
