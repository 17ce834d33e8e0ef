// The "pre_tokenizer" of a tokenizer.json: text → words, within which the model merges. ByteLevel,
// Metaspace (its legacy spellings too), Split, Digits and Sequences of them; others are refused by
// name.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "worker/rank/files/json_object.h"
#include "worker/rank/tokenizer/regex.h"

namespace trainctl::data {

// A piece of a text on its way through a tokenizer.
struct Piece {
  std::string_view text;
  bool at_start = false;  // begins where the whole text begins
};

// A text cut into pieces. Owns those that were rewritten; the others are views of what the caller
// holds.
class Pieces {
 public:
  std::string_view Own(std::string text) { return owned_.emplace_back(std::move(text)); }

  std::vector<Piece> list;

 private:
  std::deque<std::string> owned_;
};

// What becomes of the matches of a split pattern (tokenizers' SplitDelimiterBehavior).
enum class SplitBehavior { kRemoved, kIsolated, kMergedWithPrevious, kMergedWithNext, kContiguous };

// Thread-safe: a value. A default one leaves each piece one word.
class PreTokenizer {
 public:
  // Of the object's key "pre_tokenizer", which may be null. Faults are recorded in the object.
  static PreTokenizer Read(const files::JsonObject& tokenizer);
  // GPT-2's: ByteLevel with its split pattern.
  static PreTokenizer ByteLevel(bool add_prefix_space);
  // Qwen2Tokenizer's: its split pattern, then ByteLevel without one.
  static PreTokenizer Qwen2(bool add_prefix_space);

  // Cuts the pieces into words. They are raw UTF-8 also where byte_level() says that the model's
  // vocabulary is not.
  void Split(Pieces* pieces) const;
  bool byte_level() const { return byte_level_; }

 private:
  struct SplitStep {
    Regex pattern;
    SplitBehavior behavior = SplitBehavior::kIsolated;
    bool invert = false;
  };
  enum class Prefix { kNever, kFirst, kAlways };
  // Spaces become `to` (Metaspace); pieces that do not start with `to` then get it as their prefix.
  struct SpaceStep {
    std::string to;
    bool replace_spaces = false;
    Prefix prefix = Prefix::kNever;
  };

  void AddStep(const files::JsonObject& component);
  void AddByteLevel(bool add_prefix_space, bool use_regex);
  void AddMetaspace(const files::JsonObject& component);
  static void Apply(const SplitStep& step, Pieces* pieces);
  static void Apply(const SpaceStep& step, Pieces* pieces);

  std::vector<std::variant<SplitStep, SpaceStep>> steps_;
  bool byte_level_ = false;
};

}  // namespace trainctl::data
