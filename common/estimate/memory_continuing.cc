#include "common/estimate/memory_continuing.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "common/estimate/memory_activations.h"
#include "common/estimate/memory_forward.h"
#include "common/estimate/memory_setting.h"
#include "common/estimate/memory_state.h"
#include "common/model/layout.h"

namespace trainctl::job {
namespace {

constexpr int64_t kSpecialTokens = 2;    // bos, and a tokenizer's leading space
constexpr int64_t kTemplateTokens = 64;  // around a turn, with a default system turn
constexpr int64_t kFp64Bytes = 8;

// Tokens at most, with the picture's placeholders.
int64_t TokensOf(const JobSpec& job, const ModelShape& model, const std::string& prompt) {
  return static_cast<int64_t>(prompt.size()) + kSpecialTokens +
         (PromptsAreTurns(job) ? kTemplateTokens : 0) + (model.image ? model.image->queries : 0);
}

int64_t LongestPrompt(const JobSpec& job, const ModelShape& model) {
  int64_t longest = 0;
  for (const std::string& prompt : job.eval.prompts)
    longest = std::max(longest, TokensOf(job, model, prompt));
  return longest;
}

// Texts that advance together.
struct Together {
  int64_t texts = 1;
  int64_t positions = 0;  // of all, with their new tokens
};

// As worker/rank/model/continue_texts.cc lets them.
Together TogetherInTraining(const JobSpec& job, const ModelShape& model) {
  int64_t all = 0;
  for (const std::string& prompt : job.eval.prompts)
    all += TokensOf(job, model, prompt) + job.eval.max_new_tokens;
  const int64_t at_once = std::min(job.train.micro_batch_size.value_or(1), all) *
                          std::min(job.train.max_seq_length, all);
  return {std::ssize(job.eval.prompts), std::min(all, std::max(at_once, LongestText(job, model)))};
}

// While a picture is looked at: those of all prompts in fp32, what it has become so far, and what
// one unit works with. Matrix products of bf16 on CPUs are in fp32.
int64_t PictureWork(const MemorySetting& s) {
  if (!s.model.image) return 0;
  constexpr int64_t kColors = 3;
  const int64_t side = s.model.image->side;
  int64_t most = 0, widest = 0;
  for (const EncoderElements& unit : s.units.encoder) {
    const int64_t saved = s.compute_bytes * unit.saves.compute + kFp32Bytes * unit.saves.fp32;
    const int64_t work = unit.positions * (2 * unit.ffn + unit.width) * s.compute_bytes;
    const int64_t matrices = s.widens() ? unit.elements.frozen * kFp32Bytes : 0;
    most = std::max(most, saved + work + matrices);
    widest = std::max(widest, unit.positions * unit.width * s.compute_bytes);
  }
  const int64_t pictures = std::ssize(s.job.eval.prompts);
  return pictures * kColors * side * side * kFp32Bytes + most + 2 * widest;
}

int64_t CacheBytes(const MemorySetting& s, int64_t positions) {
  return 2 * s.model.layers * s.model.kv_heads * s.model.head_dim * s.compute_bytes * positions;
}

int64_t RotaryBytes(const MemorySetting& s, int64_t positions) {
  const int64_t longest = std::max(s.job.train.max_seq_length, positions);
  return kFp32Bytes * s.model.head_dim * PaddedLength(longest);
}

// While the logits of a position of each text are made, and chosen from.
int64_t HeadBytes(const MemorySetting& s, int64_t texts) {
  const int64_t matrix = s.widens() ? s.model.vocab * s.model.hidden * kFp32Bytes : 0;
  const int64_t drawn = s.is_cpu && s.job.eval.temperature > 0 ? 3 * kFp64Bytes : 0;
  return matrix + texts * s.model.vocab * (s.compute_bytes + 2 * kFp32Bytes + drawn) +
         2 * HiddenBytes(s);
}

// Of one prompt after the other, whatever the micro batch.
MemorySetting SettingOfPrompts(const JobSpec& job, const ModelShape& model, DeviceKind device) {
  const int64_t prompt = LongestPrompt(job, model);
  MemorySetting s = MemorySettingOf(job, model, device, prompt);
  s.positions = prompt;
  s.samples = 1;
  return s;
}

// While the last position of a text attends to all others: keys or values for each head, where
// heads share them; its scores and their softmax.
int64_t PastBytes(const MemorySetting& s) {
  const int64_t text = LongestText(s.job, s.model);
  const bool shares = s.model.heads > s.model.kv_heads;
  const int64_t copied = shares ? s.model.heads * s.model.head_dim * text * s.compute_bytes : 0;
  return copied + 3 * s.model.heads * text * kFp32Bytes;
}

int64_t WorkBytes(const MemorySetting& s, int64_t texts) {
  return RowBytes(s) +
         std::max({BlockInForward(s), PastBytes(s), HeadBytes(s, texts), PictureWork(s)});
}

}  // namespace

int64_t LongestText(const JobSpec& job, const ModelShape& model) {
  const int64_t prompt = LongestPrompt(job, model);
  return prompt == 0 ? 0 : prompt + job.eval.max_new_tokens;
}

int64_t PeakOfPrompts(const JobSpec& job, const ModelShape& model, DeviceKind device) {
  if (job.eval.prompts.empty()) return 0;
  const MemorySetting s = SettingOfPrompts(job, model, device);
  const Together together = TogetherInTraining(s.job, model);
  return CacheBytes(s, together.positions) + WorkBytes(s, together.texts) + GatheredInForward(s);
}

MemoryEstimate EstimateContinuing(const JobSpec& job, const ModelShape& model, DeviceKind device) {
  const MemorySetting s = SettingOfPrompts(job, model, device);
  const int64_t text = LongestText(job, model);
  const int64_t kept = CacheBytes(s, text) + RotaryBytes(s, text);
  MemoryByKind memory = {.params = HeldParameterBytes(s), .other = kept + s.MatrixWorkspaceBytes()};
  memory.allocated = memory.params + memory.other;
  memory.peak_allocated = memory.reserved = memory.allocated + WorkBytes(s, /*texts=*/1);
  MemoryEstimate estimate{.peak_allocated = memory.peak_allocated, .sequence_length = text};
  estimate.phases.fill(memory);
  return estimate;
}

}  // namespace trainctl::job
