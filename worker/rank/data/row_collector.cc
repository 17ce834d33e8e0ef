#include "worker/rank/data/row_collector.h"

#include <algorithm>

namespace trainctl::data {

namespace {

bool StartsTwice(std::span<const int32_t> ids, std::span<const int32_t> bos) {
  return !bos.empty() && ids.size() >= 2 * bos.size() &&
         std::ranges::equal(ids.subspan(bos.size(), bos.size()), bos);
}

}  // namespace

base::Status CheckVocabulary(std::span<const int32_t> ids, int64_t vocab,
                             const Tokenizer& tokenizer) {
  const auto foreign =
      std::find_if(ids.begin(), ids.end(), [&](int32_t id) { return id >= vocab; });
  if (foreign == ids.end()) return base::Ok{};
  return base::Error{base::Code::kInvalid, "token " + std::to_string(*foreign) + " ('" +
                                               tokenizer.Decode({&*foreign, 1}) +
                                               "') is beyond the model's vocabulary of " +
                                               std::to_string(vocab) +
                                               "; does the tokenizer belong to this model?"};
}

base::Status RowCollector::Add(std::string_view prompt, std::string_view completion,
                               bool mask_prompt) {
  if (std::max(prompt.size(), completion.size()) > kMaxTextBytes) {
    return base::Error{base::Code::kInvalid,
                       "a text of more than " + std::to_string(kMaxTextBytes) + " bytes"};
  }
  std::vector<int32_t> ids = boundary_.bos;
  tokenizer_.Encode(prompt, &ids);
  int64_t prompt_length = static_cast<int64_t>(ids.size());
  tokenizer_.Encode(completion, &ids);
  if (const auto bos = std::ssize(boundary_.bos); StartsTwice(ids, boundary_.bos)) {
    ids.erase(ids.begin(), ids.begin() + bos);
    prompt_length = std::max(prompt_length - bos, bos);
  }
  const bool spelled_out = std::ssize(ids) > prompt_length && ids.back() == boundary_.eos;
  if (boundary_.eos >= 0 && !spelled_out) ids.push_back(static_cast<int32_t>(boundary_.eos));
  if (ids.empty())
    return base::Error{base::Code::kInvalid,
                       "no tokens: the text is empty, and the model has neither bos nor eos"};
  ids.resize(std::min<int64_t>(static_cast<int64_t>(ids.size()), max_seq_length_));
  if (auto known = CheckVocabulary(ids, vocab_, tokenizer_); !known) return known;
  const int64_t length = static_cast<int64_t>(ids.size());
  rows_.push_back({static_cast<int64_t>(tokens_.size()), length,
                   mask_prompt ? std::min(prompt_length, length) : 0});
  tokens_.insert(tokens_.end(), ids.begin(), ids.end());
  return base::Ok{};
}

}  // namespace trainctl::data
