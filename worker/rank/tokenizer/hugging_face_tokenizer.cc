#include "worker/rank/tokenizer/hugging_face_tokenizer.h"

#include <algorithm>
#include <utility>

#include "worker/rank/tokenizer/utf8.h"

namespace trainctl::data {

HuggingFaceTokenizer::HuggingFaceTokenizer(TokenizerParts parts)
    : normalizer_(std::move(parts.normalizer)),
      pre_tokenizer_(std::move(parts.pre_tokenizer)),
      model_(std::move(parts.model)),
      decoder_(std::move(parts.decoder)),
      prefix_(std::move(parts.prefix)) {
  const auto name = [this](int32_t id, const std::string& entry) {
    if (static_cast<size_t>(id) >= entries_.size()) entries_.resize(id + 1);
    entries_[id] = entry;
  };
  for (const auto& [entry, id] : model_.vocab()) name(id, entry);
  for (const AddedToken& token : parts.added_tokens) {
    name(token.id, token.content);
    if (token.special) specials_.insert(token.id);
    if (token.normalized) {
      in_normalized_.Add(token, normalizer_.Normalize(token.content));
    } else {
      in_original_.Add(token, token.content);
    }
  }
}

void HuggingFaceTokenizer::Encode(std::string_view text, std::vector<int32_t>* ids,
                                  const EncodeProgress& progress) const {
  std::string storage;
  text = RepairUtf8(text, &storage);
  for (const Segment& segment : in_original_.Split(text)) {
    if (segment.id >= 0) {
      ids->push_back(segment.id);
      continue;
    }
    const auto begin = static_cast<size_t>(segment.text.data() - text.data());
    const std::string normalized =
        normalizer_.empty() ? std::string() : normalizer_.Normalize(segment.text);
    const std::string_view rest = normalizer_.empty() ? segment.text : normalized;
    ToldWords told(progress, begin, segment.text.size(), rest.size());
    EncodeNormalized(rest, begin == 0, ids, &told);
  }
}

void HuggingFaceTokenizer::EncodeNormalized(std::string_view text, bool at_start,
                                            std::vector<int32_t>* ids, ToldWords* told) const {
  for (const Segment& segment : in_normalized_.Split(text)) {
    if (segment.id >= 0) {
      ids->push_back(segment.id);
      continue;
    }
    Pieces words;
    words.list.push_back({segment.text, at_start && segment.text.data() == text.data()});
    pre_tokenizer_.Split(&words);
    for (const Piece& word : words.list) model_.Encode(word.text, ids, told);
  }
}

int32_t HuggingFaceTokenizer::IdOf(std::string_view token) const {
  const auto found = std::ranges::find(entries_, token);
  return token.empty() || found == entries_.end() ? -1
                                                  : static_cast<int32_t>(found - entries_.begin());
}

std::string HuggingFaceTokenizer::Decode(std::span<const int32_t> ids) const {
  std::vector<std::string> entries;
  for (const int32_t id : ids) {
    if (id >= 0 && id < vocab_size() && !entries_[id].empty()) entries.push_back(entries_[id]);
  }
  return decoder_.Decode(std::move(entries));
}

}  // namespace trainctl::data
