// Memory of a job that does not train: its model continues eval.prompts, one after the other.
// Inside this room only. Pure.
//
//   weights   all frozen: e a parameter, 4-bit codes as in training
//   cache     keys and values of the longest text, its prompt and eval.max_new_tokens: 2 L k D e a
//             position
//   work      of that prompt: what a block holds at once, or the logits of one position. On CPU
//             slots with bf16 also fp32 copies of what is multiplied.
//   beside    rotary tables, as in training
//
// A prompt counts as many tokens as it has bytes, and two: more than it can have. One that a chat
// template writes counts kTemplateTokens more, which is as much as the public models' templates
// add. `other` has the cache and what is beside; the peak has all.
#pragma once

#include "common/estimate/memory_estimate.h"

namespace trainctl::job {

MemoryEstimate EstimateContinuing(const JobSpec& job, const ModelShape& model, DeviceKind device);

}  // namespace trainctl::job
