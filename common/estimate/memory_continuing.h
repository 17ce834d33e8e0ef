// Memory of continuing eval.prompts. That is all that a job does that does not train, one text
// after the other. Of one that trains it is a part of an evaluation. Inside this room only. Pure.
//
//   weights   of a job that does not train all frozen: e a parameter, 4-bit codes as in training
//   cache     keys and values of the longest text, its prompt and eval.max_new_tokens: 2 L k D e a
//             position. In training of all texts that advance together, which have as many
//             positions as a micro batch of max_seq_length; one text may have more.
//   work      of the longest prompt: what a block holds at once; or of the longest text what its
//             last position attends to; or the logits of one position of each text. On CPU slots
//             with bf16 also fp32 copies of what is multiplied. Under fsdp whole weights.
//   beside    rotary tables, of the longest text too
//
// A prompt counts as many tokens as it has bytes, and two: more than it can have. One that a chat
// template writes counts kTemplateTokens more, which is as much as the public models' templates
// add. `other` has the cache and what is beside; the peak has all.
#pragma once

#include "common/estimate/memory_estimate.h"

namespace trainctl::job {

// Tokens at most of the longest text, with the picture's placeholders; 0: there are no prompts.
int64_t LongestText(const JobSpec& job, const ModelShape& model);

// What an evaluation of a job that trains holds beside its weights, its optimizer and what is
// beside the model.
int64_t PeakOfPrompts(const JobSpec& job, const ModelShape& model, DeviceKind device);

MemoryEstimate EstimateContinuing(const JobSpec& job, const ModelShape& model, DeviceKind device);

}  // namespace trainctl::job
