#include "worker/rank/data/prompts.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "common/base/utf8.h"
#include "worker/rank/data/boundary_tokens.h"
#include "worker/rank/data/captions.h"
#include "worker/rank/data/chat_encoder.h"

namespace trainctl::data {
namespace {

base::Error AtPrompts(const base::Error& error) {
  return {error.code, "eval.prompts: " + error.message};
}

base::Status CheckPrompt(const std::vector<int32_t>& ids, const job::ModelShape& model) {
  const auto invalid = [](const std::string& message) {
    return base::Error{base::Code::kInvalid, message};
  };
  const auto length = static_cast<int64_t>(ids.size());
  if (ids.empty()) return invalid("no token: expected a text to go on from");
  const int32_t largest = *std::ranges::max_element(ids);
  if (largest >= model.vocab) {
    return invalid("token " + std::to_string(largest) + " is beyond the model's vocabulary of " +
                   std::to_string(model.vocab));
  }
  if (length >= model.max_positions) {
    return invalid(std::to_string(length) + " tokens: expected fewer than config.json's " +
                   "max_position_embeddings, " + std::to_string(model.max_positions));
  }
  return base::Ok{};
}

// A prompt's tokens.
using EncodePrompt = std::function<base::Result<std::vector<int32_t>>(const std::string& text)>;

EncodePrompt AsItIs(const Tokenizer& tokenizer, const BoundaryTokens& boundary,
                    const Placeholders& placeholders) {
  return [&tokenizer, boundary, placeholders](const std::string& text) {
    std::vector<int32_t> ids(static_cast<size_t>(placeholders.count),
                             static_cast<int32_t>(placeholders.token));
    ids.insert(ids.end(), boundary.bos.begin(), boundary.bos.end());
    tokenizer.Encode(text, &ids);
    return base::Result(std::move(ids));
  };
}

// Of turns; the token that ends an answer is a stop too.
base::Result<EncodePrompt> AsTurn(const job::JobSpec& job, const Tokenizer& tokenizer,
                                  const BoundaryTokens& boundary,
                                  const std::string& model_directory, std::vector<int64_t>* stops) {
  auto encoder = ChatEncoder::Create(job.data, tokenizer, boundary, model_directory);
  if (!encoder) return encoder.error();
  const int64_t end = encoder->end_of_answer();
  if (end >= 0 && std::ranges::find(*stops, end) == stops->end()) stops->push_back(end);
  return EncodePrompt([encoder = std::move(*encoder)](const std::string& text) {
    return encoder.EncodeQuestion(text);
  });
}

std::string TextOfWords(const Tokenizer& tokenizer, std::span<const int32_t> ids) {
  std::vector<int32_t> words;
  std::ranges::copy_if(ids, std::back_inserter(words),
                       [&](int32_t id) { return !tokenizer.IsSpecial(id); });
  return tokenizer.Decode(words);
}

}  // namespace

int64_t Prompts::longest() const {
  size_t most = 0;
  for (const std::vector<int32_t>& prompt : ids) most = std::max(most, prompt.size());
  return static_cast<int64_t>(most);
}

base::Result<Prompts> ReadPrompts(const job::JobSpec& job, const job::ModelShape& model,
                                  const std::string& model_directory) {
  Prompts prompts;
  if (job.eval.prompts.empty()) return prompts;
  auto tokenizer = LoadTokenizer(model_directory);
  if (!tokenizer) return AtPrompts(tokenizer.error());
  const auto boundary = ReadBoundaryTokens(**tokenizer, model, model_directory);
  if (!boundary) return AtPrompts(boundary.error());
  auto generation = files::ReadGenerationConfig(model_directory, model);
  if (!generation) return AtPrompts(generation.error());
  const auto placeholders = PlaceholdersOf(job.data, model);
  if (!placeholders) return placeholders.error();
  prompts.generation = std::move(*generation);
  std::vector<int64_t>& stops = prompts.generation.stops;
  if (stops.empty() && boundary->eos >= 0) stops = {boundary->eos};
  const base::Result<EncodePrompt> encode =
      job::PromptsAreTurns(job) ? AsTurn(job, **tokenizer, *boundary, model_directory, &stops)
                                : AsItIs(**tokenizer, *boundary, *placeholders);
  if (!encode) return AtPrompts(encode.error());
  for (const std::string& text : job.eval.prompts) {
    auto ids = (*encode)(text);
    const base::Status checked = ids ? CheckPrompt(*ids, model) : base::Status(ids.error());
    if (!checked.ok()) {
      return base::Error{
          checked.error().code,
          "eval.prompts[" + std::to_string(prompts.ids.size()) + "]: " + checked.error().message};
    }
    prompts.ids.push_back(std::move(*ids));
  }
  prompts.tokenizer = std::move(*tokenizer);
  return prompts;
}

std::string AddedText(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                      std::span<const int32_t> added, size_t max_bytes) {
  std::vector<int32_t> all(prompt.begin(), prompt.end());
  all.insert(all.end(), added.begin(), added.end());
  // A decoder may drop the space that begins a text, so that the words are read behind the prompt.
  const std::string before = TextOfWords(tokenizer, prompt), both = TextOfWords(tokenizer, all);
  const std::string text =
      both.starts_with(before) ? both.substr(before.size()) : TextOfWords(tokenizer, added);
  return std::string(base::WholeCharacters(text, max_bytes));
}

}  // namespace trainctl::data
