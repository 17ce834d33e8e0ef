#include "worker/rank/data/row_collector.h"

#include <algorithm>
#include <utility>

#include "worker/rank/data/seam.h"

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

int64_t RowCollector::Encode(const PromptRow& row, std::vector<int32_t>* ids) const {
  if (row.seam == Seam::kApart) {
    tokenizer_.Encode(row.prompt, ids);
    const int64_t prompt_length = std::ssize(*ids);
    tokenizer_.Encode(row.completion, ids);
    return prompt_length;
  }
  const auto begin = std::ssize(*ids);
  std::string text(row.prompt);
  tokenizer_.Encode(text.append(row.completion), ids);
  const std::span<const int32_t> whole = std::span(*ids).subspan(static_cast<size_t>(begin));
  return begin +
         static_cast<int64_t>(TokensBefore(tokenizer_, tokenizer_.Encode(row.prompt), whole));
}

base::Status RowCollector::Add(const PromptRow& row) {
  if (row.prompt.size() + row.completion.size() > kMaxTextBytes) {
    return base::Error{base::Code::kInvalid,
                       "a text of more than " + std::to_string(kMaxTextBytes) + " bytes"};
  }
  std::vector<int32_t> ids = boundary_.bos;
  int64_t prompt_length = Encode(row, &ids);
  if (const auto bos = std::ssize(boundary_.bos); StartsTwice(ids, boundary_.bos)) {
    ids.erase(ids.begin(), ids.begin() + bos);
    prompt_length = std::max(prompt_length - bos, bos);
  }
  const bool spelled_out = std::ssize(ids) > prompt_length && ids.back() == boundary_.eos;
  if (boundary_.eos >= 0 && !spelled_out) ids.push_back(static_cast<int32_t>(boundary_.eos));
  if (ids.empty())
    return base::Error{base::Code::kInvalid,
                       "no tokens: the text is empty, and the model has neither bos nor eos"};
  MaskedTokens masked{.ids = std::move(ids), .ignored = {}};
  if (row.mask_prompt && prompt_length > 0) masked.ignored = {{0, prompt_length}};
  return Add(masked);
}

base::Status RowCollector::Append(Tokenized rows, int64_t most_rows) {
  const int64_t begin = tokens_.size();
  const auto count = static_cast<size_t>(std::clamp<int64_t>(most_rows, 0, std::ssize(rows.rows)));
  rows.rows.resize(count);
  const int64_t used = count == 0 ? 0 : rows.rows.back().begin + rows.rows.back().length;
  const std::span<const std::byte> bytes = rows.tokens.bytes();
  const auto* ids = reinterpret_cast<const int32_t*>(bytes.data());
  if (auto added = tokens_.Append({ids, static_cast<size_t>(used)}); !added) return added.error();
  for (const Row& row : rows.rows) {
    auto added = rows_.Append({begin + row.begin, row.length, row.ignored});
    if (!added) return added;
  }
  for (const TokenSpan& span : rows.ignored) {
    if (span.begin >= used) break;
    if (auto added = ignored_.Append({begin + span.begin, begin + span.end}); !added) return added;
  }
  const auto pictures = std::min(static_cast<int64_t>(count), rows.pictures.size());
  return pictures_.Append(rows.pictures, pictures);
}

base::Result<Tokenized> RowCollector::Take() {
  auto tokens = tokens_.Take(&made_.file);
  if (!tokens) return tokens.error();
  auto rows = rows_.Take();
  if (!rows) return rows.error();
  auto ignored = ignored_.Take();
  if (!ignored) return ignored.error();
  auto pictures = pictures_.Take();
  if (!pictures) return pictures.error();
  made_.tokens = std::move(*tokens);
  made_.rows = std::move(*rows);
  made_.ignored = std::move(*ignored);
  made_.pictures = std::move(*pictures);
  return std::move(made_);
}

base::Status RowCollector::Add(const MaskedTokens& row) {
  if (row.ids.empty()) return base::Error{base::Code::kInvalid, "no tokens"};
  const int64_t length = std::min<int64_t>(std::ssize(row.ids), max_seq_length_);
  const auto ids = std::span(row.ids).first(static_cast<size_t>(length));
  if (auto known = CheckVocabulary(ids, vocab_, tokenizer_); !known) return known;
  const int64_t begin = tokens_.size();
  int64_t ignored_first = 0;
  for (const TokenSpan& span : row.ignored) {
    const int64_t end = std::min(span.end, length);
    if (span.begin == 0)
      ignored_first = end;
    else if (span.begin >= end)
      continue;
    else if (auto added = ignored_.Append({begin + span.begin, begin + end}); !added)
      return added;
  }
  if (auto added = rows_.Append({begin, length, ignored_first}); !added) return added;
  return tokens_.Append(ids);
}

}  // namespace trainctl::data
