// SentencePiece's BPE (Kudo and Richardson 2018): normalize, merge characters by the pieces'
// scores, spell what is unknown in bytes. Added tokens are found before, as transformers does.
#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "worker/rank/tokenizer/bpe_merge.h"
#include "worker/rank/tokenizer/charsmap.h"
#include "worker/rank/tokenizer/prefix_trie.h"
#include "worker/rank/tokenizer/sentencepiece_model.h"
#include "worker/rank/tokenizer/space_words.h"
#include "worker/rank/tokenizer/string_map.h"
#include "worker/rank/tokenizer/tokenizer.h"
#include "worker/rank/tokenizer/told_words.h"
#include "worker/rank/tokenizer/utf8.h"
#include "worker/rank/tokenizer/word_cache.h"

namespace trainctl::data {
namespace {

constexpr std::string_view kUnknownText = " \xE2\x81\x87 ";  // SentencePiece shows "⁇"

class SentencePieceTokenizer : public Tokenizer {
 public:
  SentencePieceTokenizer(SentencePieceModel model, Charsmap charsmap,
                         const SentencePieceOptions& options);

  using Tokenizer::Encode;
  void Encode(std::string_view text, std::vector<int32_t>* ids,
              const EncodeProgress& progress) const override;
  std::string Decode(std::span<const int32_t> ids) const override;
  bool IsSpecial(int32_t id) const override { return specials_.contains(id); }
  int64_t vocab_size() const override { return vocab_size_; }
  int32_t IdOf(std::string_view token) const override;

 private:
  void TakeAddedTokens(const SentencePieceOptions& options);
  std::string Normalize(std::string_view text, bool adds_prefix) const;
  Charsmap::Rule NormalizedPrefix(std::string_view text) const;
  std::string_view Space() const { return model_.escape_whitespaces ? kSpaceSymbol : " "; }
  std::vector<Symbol> SymbolsOf(std::string_view text) const;
  std::optional<Merge> FindMerge(std::string_view text, const Symbol& left,
                                 const Symbol& right) const;
  int32_t TextIdOf(std::string_view piece) const;
  void AppendUnknown(std::string_view text, bool after_unknown, std::vector<int32_t>* ids) const;
  void EncodeWord(std::string_view word, std::vector<int32_t>* ids) const;
  std::vector<Segment> SplitAtAdded(std::string_view text) const;
  std::string_view TextOf(int32_t id) const;

  const SentencePieceModel model_;
  const bool adds_prefix_, adds_each_prefix_;
  const Charsmap charsmap_;
  StringMap<int32_t> ids_;       // of normal and user-defined pieces: those that a text can become
  PrefixTrie user_defined_;      // never normalized, never merged
  std::vector<uint32_t> ranks_;  // by id: higher scores first, equal scores equal
  std::array<int32_t, 256> bytes_;  // ids of <0x00> … <0xFF>; −1: none
  int32_t unknown_id_ = 0;
  bool cuts_at_spaces_ = false;     // space_words.h
  AddedTokenMatcher first_, then_;  // those that are not normalized are found before the others
  std::map<int32_t, std::string> added_;  // by id
  std::set<int32_t> specials_;
  int64_t vocab_size_ = 0;
  mutable WordCache cache_;
};

std::string ByteText(int byte) {
  char text[8];
  std::snprintf(text, sizeof text, "<0x%02X>", byte);
  return text;
}

std::vector<uint32_t> RanksOf(const std::vector<SentencePiece>& pieces) {
  std::vector<float> scores;
  for (const SentencePiece& piece : pieces) scores.push_back(piece.score);
  std::sort(scores.begin(), scores.end(), std::greater<float>());
  std::vector<uint32_t> ranks;
  for (const SentencePiece& piece : pieces) {
    const auto place =
        std::lower_bound(scores.begin(), scores.end(), piece.score, std::greater<float>());
    ranks.push_back(static_cast<uint32_t>(place - scores.begin()));
  }
  return ranks;
}

SentencePieceTokenizer::SentencePieceTokenizer(SentencePieceModel model, Charsmap charsmap,
                                               const SentencePieceOptions& options)
    : model_(std::move(model)),
      adds_prefix_(model_.add_dummy_prefix && options.adds_prefix),
      adds_each_prefix_(options.adds_each_prefix),
      charsmap_(std::move(charsmap)),
      ranks_(RanksOf(model_.pieces)),
      vocab_size_(std::ssize(model_.pieces)) {
  bytes_.fill(-1);
  StringMap<int32_t> byte_pieces;
  for (int32_t id = 0; id < vocab_size(); ++id) {
    const SentencePiece& piece = model_.pieces[id];
    if (piece.type == PieceType::kUnknown) unknown_id_ = id;
    if (piece.type == PieceType::kByte) byte_pieces.emplace(piece.text, id);
    if (piece.type == PieceType::kNormal || piece.type == PieceType::kUserDefined)
      ids_.emplace(piece.text, id);
    if (piece.type == PieceType::kUserDefined) user_defined_.Add(piece.text, id);
  }
  cuts_at_spaces_ =
      TextIdOf(kSpaceSymbol) >= 0 &&
      std::ranges::none_of(ids_, [](const auto& entry) { return HasInnerSpace(entry.first); });
  for (int byte = 0; byte < 256; ++byte) {
    if (const auto found = byte_pieces.find(ByteText(byte)); found != byte_pieces.end())
      bytes_[byte] = found->second;
  }
  TakeAddedTokens(options);
}

void SentencePieceTokenizer::TakeAddedTokens(const SentencePieceOptions& options) {
  StringMap<int32_t> pieces;
  std::vector<AddedToken> own;
  for (int32_t id = 0; id < vocab_size(); ++id) {
    const SentencePiece& piece = model_.pieces[id];
    pieces.emplace(piece.text, id);
    const bool is_control = piece.type == PieceType::kControl;
    if (options.has_own_tokens && (is_control || piece.type == PieceType::kUserDefined))
      own.push_back({.id = id, .content = piece.text, .normalized = false, .special = is_control});
  }
  const auto id_of = [&](std::string_view text) {
    const auto found = pieces.find(text);
    return found == pieces.end() ? -1 : found->second;
  };
  for (AddedToken& token : JoinAddedTokens(std::move(own), options.beside, id_of, vocab_size())) {
    (token.normalized ? then_ : first_).Add(token, token.content);
    if (token.special) specials_.insert(token.id);
    vocab_size_ = std::max(vocab_size_, int64_t{token.id} + 1);
    added_[token.id] = std::move(token.content);
  }
}

// What the text's first characters become: a user-defined symbol itself, a rule's replacement, or
// the character itself.
Charsmap::Rule SentencePieceTokenizer::NormalizedPrefix(std::string_view text) const {
  if (const auto symbol = user_defined_.Longest(text); symbol.length > 0)
    return {symbol.length, text.substr(0, symbol.length)};
  if (const auto rule = charsmap_.Longest(text); rule.length > 0) return rule;
  const size_t length = FirstChar(text).length;
  return {length, text.substr(0, length)};
}

// Normalizer::Normalize of SentencePiece, less its map of offsets.
std::string SentencePieceTokenizer::Normalize(std::string_view text, bool adds_prefix) const {
  const bool trims = model_.remove_extra_whitespaces;
  const auto next = [&] { return text.empty() ? Charsmap::Rule() : NormalizedPrefix(text); };
  for (auto prefix = next(); trims && prefix.replacement == " "; prefix = next())
    text.remove_prefix(prefix.length);
  std::string normalized;
  if (text.empty()) return normalized;
  if (adds_prefix && !model_.whitespace_is_suffix) normalized += Space();
  bool after_space = trims;
  while (!text.empty()) {
    const Charsmap::Rule prefix = next();
    text.remove_prefix(prefix.length);
    std::string_view part = prefix.replacement;
    while (after_space && part.starts_with(' ')) part.remove_prefix(1);
    for (const char c : part) c == ' ' ? normalized += Space() : normalized += c;
    if (!part.empty()) after_space = trims && part.ends_with(' ');
  }
  while (trims && normalized.ends_with(Space()))
    normalized.resize(normalized.size() - Space().size());
  if (adds_prefix && model_.whitespace_is_suffix) normalized += Space();
  return normalized;
}

int32_t SentencePieceTokenizer::TextIdOf(std::string_view piece) const {
  const auto found = ids_.find(piece);
  return found == ids_.end() ? -1 : found->second;
}

int32_t SentencePieceTokenizer::IdOf(std::string_view token) const {
  for (const auto& [id, content] : added_) {
    if (content == token) return id;
  }
  const auto found = std::ranges::find(model_.pieces, token, &SentencePiece::text);
  return found == model_.pieces.end() ? -1 : static_cast<int32_t>(found - model_.pieces.begin());
}

std::vector<Symbol> SentencePieceTokenizer::SymbolsOf(std::string_view text) const {
  std::vector<Symbol> symbols;
  for (size_t begin = 0; begin < text.size();) {
    const std::string_view rest = text.substr(begin);
    const auto defined = user_defined_.Longest(rest);
    const size_t length = defined.length > 0 ? defined.length : FirstChar(rest).length;
    symbols.push_back({.id = TextIdOf(rest.substr(0, length)),
                       .begin = static_cast<int32_t>(begin),
                       .length = static_cast<int32_t>(length),
                       .frozen = defined.length > 0});
    begin += length;
  }
  return symbols;
}

// Two symbols merge where their text is a piece.
std::optional<Merge> SentencePieceTokenizer::FindMerge(std::string_view text, const Symbol& left,
                                                       const Symbol& right) const {
  const int32_t id = TextIdOf(text.substr(left.begin, left.length + right.length));
  if (id < 0) return std::nullopt;
  return Merge{ranks_[id], id};
}

// In bytes where the model has them; otherwise neighbouring unknown characters are one unknown
// piece.
void SentencePieceTokenizer::AppendUnknown(std::string_view text, bool after_unknown,
                                           std::vector<int32_t>* ids) const {
  if (!model_.byte_fallback) {
    if (!after_unknown) ids->push_back(unknown_id_);
    return;
  }
  for (const char byte : text) {
    const int32_t id = bytes_[static_cast<uint8_t>(byte)];
    ids->push_back(id >= 0 ? id : unknown_id_);
  }
}

void SentencePieceTokenizer::EncodeWord(std::string_view word, std::vector<int32_t>* ids) const {
  if (cache_.Append(word, ids)) return;
  const size_t first = ids->size();
  std::vector<Symbol> symbols = SymbolsOf(word);
  MergeSymbols(
      [&](const Symbol& left, const Symbol& right) { return FindMerge(word, left, right); },
      &symbols);
  bool after_unknown = false;
  for (const Symbol& symbol : symbols) {
    if (symbol.length == 0) continue;
    if (symbol.id >= 0) {
      ids->push_back(symbol.id);
    } else {
      AppendUnknown(word.substr(symbol.begin, symbol.length), after_unknown, ids);
    }
    after_unknown = symbol.id < 0;
  }
  cache_.Keep(word, std::span(*ids).subspan(first));
}

std::vector<Segment> SentencePieceTokenizer::SplitAtAdded(std::string_view text) const {
  std::vector<Segment> segments;
  for (const Segment& segment : first_.Split(text)) {
    if (segment.id >= 0)
      segments.push_back(segment);
    else
      std::ranges::copy(then_.Split(segment.text), std::back_inserter(segments));
  }
  return segments;
}

void SentencePieceTokenizer::Encode(std::string_view text, std::vector<int32_t>* ids,
                                    const EncodeProgress& progress) const {
  std::string storage;
  text = RepairUtf8(text, &storage);
  for (const Segment& segment : SplitAtAdded(text)) {
    if (segment.id >= 0) {
      ids->push_back(segment.id);
      continue;
    }
    const auto begin = static_cast<size_t>(segment.text.data() - text.data());
    const std::string normalized =
        Normalize(segment.text, adds_prefix_ && (begin == 0 || adds_each_prefix_));
    ToldWords told(progress, begin, segment.text.size(), normalized.size());
    for (std::string_view rest = normalized; !rest.empty();) {
      const std::string_view word = cuts_at_spaces_ ? FirstSpaceWord(rest) : rest;
      EncodeWord(word, ids);
      told.Add(word.size());
      rest.remove_prefix(word.size());
    }
  }
}

std::string_view SentencePieceTokenizer::TextOf(int32_t id) const {
  if (const auto added = added_.find(id); added != added_.end()) return added->second;
  if (id < 0 || id >= std::ssize(model_.pieces)) return "";
  const SentencePiece& piece = model_.pieces[id];
  if (piece.type == PieceType::kControl) return "";
  return piece.type == PieceType::kUnknown ? kUnknownText : piece.text;
}

std::string SentencePieceTokenizer::Decode(std::span<const int32_t> ids) const {
  std::string text;
  for (const int32_t id : ids) {
    const auto byte = id < 0 ? bytes_.end() : std::ranges::find(bytes_, id);
    if (byte != bytes_.end())
      text += static_cast<char>(byte - bytes_.begin());
    else
      text += TextOf(id);
  }
  for (size_t at = 0; (at = text.find(kSpaceSymbol, at)) != std::string::npos;)
    text.replace(at, kSpaceSymbol.size(), " ");
  if (adds_prefix_ && text.starts_with(' ')) text.erase(0, 1);
  std::string storage;
  return std::string(RepairUtf8(text, &storage));
}

}  // namespace

base::Result<std::unique_ptr<Tokenizer>> ParseSentencePieceModel(
    std::string_view proto, const std::string& source, const SentencePieceOptions& options) {
  auto model = ReadSentencePieceModel(proto, source);
  if (!model) return model.error();
  auto charsmap = Charsmap::Parse(model->precompiled_charsmap);
  if (!charsmap)
    return base::Error{charsmap.error().code,
                       source + ": normalizer_spec: " + charsmap.error().message};
  return std::unique_ptr<Tokenizer>(std::make_unique<SentencePieceTokenizer>(
      std::move(model).value(), std::move(charsmap).value(), options));
}

}  // namespace trainctl::data
