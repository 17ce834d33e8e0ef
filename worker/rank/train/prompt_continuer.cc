#include "worker/rank/train/prompt_continuer.h"

#include <algorithm>
#include <cstdio>
#include <string>

namespace trainctl::train {
namespace {

std::string OnOneLine(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c == '\n') {
      line += "\\n";
    } else if (c != '\r') {
      line += c;
    }
  }
  return line;
}

}  // namespace

std::vector<model::TextStart> PromptContinuer::Starts() const {
  const bool has_pictures = parts_.shape.image.has_value();
  const size_t most = has_pictures ? parts_.dataset.val.size() : parts_.prompts.ids.size();
  std::vector<model::TextStart> starts;
  for (size_t place = 0; place < std::min(most, parts_.prompts.ids.size()); ++place) {
    starts.push_back({parts_.prompts.ids[place]});
    if (has_pictures) starts.back().image = parts_.batches.Picture(RowOf(place));
  }
  return starts;
}

void PromptContinuer::Run(int64_t step, ops::Context& context,
                          const std::function<void(int64_t)>& progress) const {
  const auto agree = [this](const at::Tensor& chosen) {
    const bool stops = parts_.comm.rank() == 0 && parts_.commands.stop_requested();
    if (stops) chosen.fill_(model::Continuation::kStop);
    if (parts_.comm.world_size() > 1) parts_.comm.Wait(parts_.comm.Broadcast(chosen, 0));
  };
  // Training saves keys and values of as many positions, and more.
  const int64_t positions = parts_.micro_batch * parts_.job.train.max_seq_length;
  const std::vector<std::vector<int32_t>> added =
      model::ContinueTexts(parts_.model, parts_.shape, context, Starts(),
                           {.max_new_tokens = parts_.job.eval.max_new_tokens,
                            .temperature = parts_.job.eval.temperature,
                            .seed = parts_.job.seed,
                            .stops = parts_.prompts.stops,
                            .agree = agree,
                            .progress = progress,
                            .positions_at_once = positions},
                           parts_.device);
  for (size_t place = 0; parts_.comm.rank() == 0 && place < added.size(); ++place)
    Tell(step, place, added[place]);
}

void PromptContinuer::Tell(int64_t step, size_t place, const std::vector<int32_t>& added) const {
  job::RankContinuation said{
      .step = step, .place = static_cast<int64_t>(place), .prompt = parts_.job.eval.prompts[place]};
  if (parts_.shape.image && !parts_.dataset.pictures.empty()) {
    const std::string& picture = parts_.dataset.pictures[RowOf(place)];
    said.prompt = picture + (said.prompt.empty() ? "" : ": " + said.prompt);
  }
  std::vector<int32_t> words = added;
  if (!words.empty() && std::ranges::count(parts_.prompts.stops, words.back()) > 0)
    words.pop_back();
  said.text = data::AddedText(*parts_.prompts.tokenizer, parts_.prompts.ids[place], words,
                              job::RankContinuation::kMaxTextBytes);
  const std::string line = "step " + std::to_string(step) + ": " + OnOneLine(said.prompt) + " → " +
                           OnOneLine(said.text) + "\n";
  std::fputs(line.c_str(), stderr);
  parts_.reporter.Send(said);
}

}  // namespace trainctl::train
