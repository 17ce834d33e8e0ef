// The "decoder" of a tokenizer.json: vocabulary entries → text. ByteLevel, Metaspace, Replace,
// ByteFallback, Fuse, Strip and Sequences of them; others are refused by name.
#pragma once

#include <cstddef>
#include <string>
#include <variant>
#include <vector>

#include "worker/rank/files/json_object.h"
#include "worker/rank/tokenizer/regex.h"

namespace trainctl::data {

// Thread-safe: a value. A default one joins the entries with spaces, as tokenizers does without a
// decoder.
class Decoder {
 public:
  // Of the object's key "decoder", which may be null. Faults are recorded in the object.
  static Decoder Read(const files::JsonObject& tokenizer);
  static Decoder ByteLevel();

  std::string Decode(std::vector<std::string> entries) const;

 private:
  struct ByteLevelStep {};
  struct ByteFallbackStep {};
  struct FuseStep {};
  struct MetaspaceStep {
    std::string replacement;
    bool drop_first = true;  // those that begin the text stand for the added prefix
  };
  struct ReplaceStep {
    Regex pattern;
    std::string content;
  };
  struct StripStep {
    std::string content;
    size_t start = 0, stop = 0;  // at most so many from each end of each entry
  };
  using Entries = std::vector<std::string>;

  void AddStep(const files::JsonObject& component);
  static void Apply(const ByteLevelStep& step, Entries* entries);
  static void Apply(const ByteFallbackStep& step, Entries* entries);
  static void Apply(const FuseStep& step, Entries* entries);
  static void Apply(const MetaspaceStep& step, Entries* entries);
  static void Apply(const ReplaceStep& step, Entries* entries);
  static void Apply(const StripStep& step, Entries* entries);

  std::vector<std::variant<ByteLevelStep, ByteFallbackStep, FuseStep, MetaspaceStep, ReplaceStep,
                           StripStep>>
      steps_;
};

}  // namespace trainctl::data
