#include "worker/rank/tokenizer/bpe_model.h"

#include <cstdio>
#include <span>

#include "worker/rank/tokenizer/byte_level.h"
#include "worker/rank/tokenizer/space_words.h"
#include "worker/rank/tokenizer/utf8.h"

namespace trainctl::data {
namespace {

std::string ByteEntry(int byte) {
  char entry[8];
  std::snprintf(entry, sizeof entry, "<0x%02X>", byte);
  return entry;
}

}  // namespace

base::Result<BpeModel> BpeModel::Create(BpeSpec spec) {
  BpeModel model(std::move(spec));
  if (model.spec_.unk_token) {
    model.unk_id_ = model.IdOf(*model.spec_.unk_token);
    if (model.unk_id_ < 0)
      return base::Error{base::Code::kInvalid,
                         "unk_token '" + *model.spec_.unk_token + "' is not in the vocabulary"};
  }
  if (auto status = model.BuildMerges(); !status) return status.error();
  model.BuildBytes();
  return model;
}

base::Status BpeModel::BuildMerges() {
  merges_ = MergeTable(spec_.merges.size());
  // Without unk_token a character that vanishes makes neighbours of what a cut would part.
  cuts_at_spaces_ =
      !spec_.byte_level && !spec_.ignore_merges && unk_id_ >= 0 && IdOf(kSpaceSymbol) >= 0;
  for (size_t rank = 0; rank < spec_.merges.size(); ++rank) {
    const auto& [left, right] = spec_.merges[rank];
    const int32_t left_id = IdOf(left), right_id = IdOf(right), new_id = IdOf(left + right);
    if (left_id < 0 || right_id < 0 || new_id < 0) {
      const std::string& missing = left_id < 0 ? left : right_id < 0 ? right : left + right;
      return base::Error{base::Code::kInvalid, "merge " + std::to_string(rank) + " ('" + left +
                                                   "' '" + right + "'): '" + missing +
                                                   "' is not in the vocabulary"};
    }
    cuts_at_spaces_ = cuts_at_spaces_ && !HasInnerSpace(left + right);
    merges_.Insert(left_id, right_id, {static_cast<uint32_t>(rank), new_id});
  }
  spec_.merges.clear();
  return base::Ok{};
}

void BpeModel::BuildBytes() {
  byte_ids_.fill(-1);
  if (!spec_.byte_level) {
    for (int byte = 0; byte < 256 && spec_.byte_fallback; ++byte)
      byte_ids_[byte] = IdOf(ByteEntry(byte));
    return;
  }
  for (const auto& [entry, id] : spec_.vocab) {
    const auto bytes = BytesOfByteLevel(entry);
    if (!bytes) continue;  // an added token: no text leads to it
    if (bytes->size() == 1) byte_ids_[static_cast<uint8_t>(bytes->front())] = id;
    if (spec_.ignore_merges) words_.emplace(*bytes, id);
  }
}

int32_t BpeModel::IdOf(std::string_view entry) const {
  const auto found = spec_.vocab.find(entry);
  return found == spec_.vocab.end() ? -1 : found->second;
}

int32_t BpeModel::IdOfUnit(std::string_view unit) const {
  return spec_.byte_level ? byte_ids_[static_cast<uint8_t>(unit.front())] : IdOf(unit);
}

bool BpeModel::AppendBytes(std::string_view unit, std::vector<Symbol>* symbols) const {
  if (!spec_.byte_fallback || spec_.byte_level) return false;
  for (const char byte : unit) {
    if (byte_ids_[static_cast<uint8_t>(byte)] < 0) return false;
  }
  for (const char byte : unit)
    symbols->push_back({.id = byte_ids_[static_cast<uint8_t>(byte)], .length = 1});
  return true;
}

// One symbol a unit: a byte with byte_level, else a character. Order of events as in tokenizers'
// merge_word.
std::vector<Symbol> BpeModel::SymbolsOf(std::string_view word) const {
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  int32_t pending_unk_bytes = 0;
  const auto flush = [&] {
    if (pending_unk_bytes > 0) symbols.push_back({.id = unk_id_, .length = pending_unk_bytes});
    pending_unk_bytes = 0;
  };
  for (size_t i = 0; i < word.size();) {
    const std::string_view unit =
        word.substr(i, spec_.byte_level ? 1 : FirstChar(word.substr(i)).length);
    const int32_t unit_bytes = static_cast<int32_t>(unit.size());
    i += unit.size();
    if (const int32_t id = IdOfUnit(unit); id >= 0) {
      flush();
      symbols.push_back({.id = id, .length = unit_bytes});
    } else if (!AppendBytes(unit, &symbols) && unk_id_ >= 0) {
      if (!spec_.fuse_unk) flush();
      pending_unk_bytes += unit_bytes;
    }
  }
  flush();
  return symbols;
}

void BpeModel::EncodeWord(std::string_view word, std::vector<int32_t>* ids) const {
  if (cache_->Append(word, ids)) return;
  const size_t first = ids->size();
  const StringMap<int32_t>& words = spec_.byte_level ? words_ : spec_.vocab;
  if (const auto whole = spec_.ignore_merges ? words.find(word) : words.end();
      whole != words.end()) {
    ids->push_back(whole->second);
  } else {
    std::vector<Symbol> symbols = SymbolsOf(word);
    MergeSymbols(
        [this](const Symbol& left, const Symbol& right) { return merges_.Find(left.id, right.id); },
        &symbols);
    for (const Symbol& symbol : symbols) {
      if (symbol.length > 0) ids->push_back(symbol.id);
    }
  }
  cache_->Keep(word, std::span(*ids).subspan(first));
}

void BpeModel::Encode(std::string_view word, std::vector<int32_t>* ids, ToldWords* told) const {
  while (!word.empty()) {
    const std::string_view part = cuts_at_spaces_ ? FirstSpaceWord(word) : word;
    EncodeWord(part, ids);
    told->Add(part.size());
    word.remove_prefix(part.size());
  }
}

}  // namespace trainctl::data
