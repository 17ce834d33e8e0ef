// The "normalizer" of a tokenizer.json: Sequence, Prepend, Replace, NFC. Others are refused by
// name.
#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "worker/rank/files/json_object.h"
#include "worker/rank/tokenizer/regex.h"

namespace trainctl::data {

// Thread-safe: a value. A default one changes nothing.
class Normalizer {
 public:
  // Of the object's key "normalizer", which may be null. Faults are recorded in the object.
  static Normalizer Read(const files::JsonObject& tokenizer);
  static Normalizer Nfc();

  bool empty() const { return steps_.empty(); }
  std::string Normalize(std::string_view text) const;

 private:
  struct Prepend {
    std::string prefix;
  };
  struct Replace {
    Regex pattern;
    std::string content;
  };
  struct ToNfcStep {};
  void AddStep(const files::JsonObject& component);

  std::vector<std::variant<Prepend, Replace, ToNfcStep>> steps_;
};

// Every match replaced by content. Also what the "Replace" decoder does.
std::string ReplaceAll(const Regex& pattern, std::string_view text, std::string_view content);

}  // namespace trainctl::data
