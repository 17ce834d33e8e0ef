#include "worker/rank/train/prompt_continuer.h"

#include <algorithm>
#include <cstdio>
#include <string>
#include <string_view>

#include "common/base/one_line.h"
#include "common/job/trains.h"

namespace trainctl::train {
namespace {

constexpr size_t kToldTokens =
    8;  // that a text grows by until it is told again; a long one by a 16th

// Without the characters whose last bytes may come with the next token.
std::string WholeCharacters(std::string text) {
  constexpr std::string_view kReplacement = "\uFFFD";
  while (text.ends_with(kReplacement)) text.resize(text.size() - kReplacement.size());
  return text;
}

}  // namespace

std::vector<model::TextStart> PromptContinuer::Starts() const {
  const bool has_pictures = parts_.shape.image.has_value();
  const bool has_own = !parts_.pictures.empty();
  const size_t most =
      has_pictures && !has_own ? parts_.dataset->val.size() : parts_.prompts.ids.size();
  std::vector<model::TextStart> starts;
  for (size_t place = 0; place < std::min(most, parts_.prompts.ids.size()); ++place) {
    starts.push_back({parts_.prompts.ids[place]});
    if (has_own)
      starts.back().image = parts_.pictures[place];
    else if (has_pictures)
      starts.back().image = parts_.batches->Picture(RowOf(place));
  }
  return starts;
}

void PromptContinuer::Run(int64_t steps_done, ops::Context& context,
                          const std::function<void(int64_t)>& progress) const {
  const bool leads = parts_.comm.rank() == 0, tells_parts = !job::Trains(parts_.job);
  model::Continuation continuation{
      .max_new_tokens = parts_.job.eval.max_new_tokens,
      .temperature = parts_.job.eval.temperature,
      .limits = {.top_k = parts_.prompts.generation.top_k,
                 .top_p = parts_.prompts.generation.top_p},
      .seed = parts_.job.seed,
      .stops = parts_.prompts.generation.stops,
      .repetition_penalty = parts_.prompts.generation.repetition_penalty,
      .progress = progress};
  continuation.agree = [this, leads](const at::Tensor& chosen) {
    const bool stops = leads && parts_.commands.stop_requested();
    if (stops) chosen.fill_(model::Continuation::kStop);
    if (parts_.comm.world_size() > 1) parts_.comm.Wait(parts_.comm.Broadcast(chosen, 0));
  };
  // common/estimate/memory_continuing.h counts their keys and values.
  continuation.positions_at_once = parts_.micro_batch * parts_.job.train.max_seq_length;
  if (tells_parts) {
    continuation.positions_at_once = 1;
    continuation.grown = [&, next = kToldTokens](size_t place, const std::vector<int32_t>& added,
                                                 bool is_whole) mutable {
      if (!leads || (!is_whole && added.size() < next)) return;
      is_whole ? Tell(steps_done, place, added) : TellPart(steps_done, place, added);
      next = is_whole ? kToldTokens : added.size() + std::max(kToldTokens, added.size() / 16);
    };
  }
  const std::vector<std::vector<int32_t>> added = model::ContinueTexts(
      parts_.model, parts_.shape, context, Starts(), continuation, parts_.device);
  for (size_t place = 0; leads && !tells_parts && place < added.size(); ++place)
    Tell(steps_done, place, added[place]);
}

std::string PromptContinuer::PictureName(size_t place) const {
  if (!parts_.pictures.empty()) return parts_.job.eval.images[place];
  if (!parts_.shape.image) return "";
  const data::Dataset& validation = data::ValidationOf(*parts_.dataset);
  return validation.pictures.empty() ? "" : validation.pictures[RowOf(place)].Name();
}

job::RankContinuation PromptContinuer::Said(int64_t step, size_t place,
                                            const std::vector<int32_t>& added) const {
  job::RankContinuation said{
      .step = step, .place = static_cast<int64_t>(place), .prompt = parts_.job.eval.prompts[place]};
  if (const std::string picture = PictureName(place); !picture.empty())
    said.prompt = picture + (said.prompt.empty() ? "" : ": " + said.prompt);
  std::vector<int32_t> words = added;
  if (!words.empty() && std::ranges::count(parts_.prompts.generation.stops, words.back()) > 0)
    words.pop_back();
  said.text = data::AddedText(*parts_.prompts.tokenizer, parts_.prompts.ids[place], words,
                              job::RankContinuation::kMaxTextBytes);
  return said;
}

void PromptContinuer::Tell(int64_t step, size_t place, const std::vector<int32_t>& added) const {
  const job::RankContinuation said = Said(step, place, added);
  const std::string line = "step " + std::to_string(step) + ": " + base::OnOneLine(said.prompt) +
                           " → " + base::OnOneLine(said.text) + "\n";
  std::fputs(line.c_str(), stderr);
  parts_.reporter.Send(said);
}

void PromptContinuer::TellPart(int64_t step, size_t place,
                               const std::vector<int32_t>& added) const {
  job::RankContinuation said = Said(step, place, added);
  said.text = WholeCharacters(std::move(said.text));
  parts_.reporter.Send(said);
}

}  // namespace trainctl::train
