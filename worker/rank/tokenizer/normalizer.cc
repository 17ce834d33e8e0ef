#include "worker/rank/tokenizer/normalizer.h"

#include <utility>

#include "worker/rank/tokenizer/nfc.h"
#include "worker/rank/tokenizer/read_pattern.h"

namespace trainctl::data {

std::string ReplaceAll(const Regex& pattern, std::string_view text, std::string_view content) {
  std::vector<Span> spans;
  pattern.Split(text, &spans);
  std::string replaced;
  replaced.reserve(text.size());
  for (const Span& span : spans)
    replaced += span.is_match ? content : text.substr(span.begin, span.end - span.begin);
  return replaced;
}

Normalizer Normalizer::Read(const files::JsonObject& tokenizer) {
  Normalizer normalizer;
  if (tokenizer.Get("normalizer") != nullptr) normalizer.AddStep(tokenizer.Object("normalizer"));
  return normalizer;
}

Normalizer Normalizer::Nfc() {
  Normalizer normalizer;
  normalizer.steps_.emplace_back(ToNfcStep{});
  return normalizer;
}

void Normalizer::AddStep(const files::JsonObject& component) {
  const std::string type = component.Text("type");
  if (type == "Sequence") {
    for (const files::JsonObject& step : component.Objects("normalizers")) AddStep(step);
  } else if (type == "Prepend") {
    steps_.emplace_back(Prepend{component.Text("prepend")});
  } else if (type == "Replace") {
    steps_.emplace_back(Replace{ReadPattern(component), component.Text("content")});
  } else if (type == "NFC") {
    steps_.emplace_back(ToNfcStep{});
  } else {
    component.Expected(
        "type", "Sequence, Prepend, Replace or NFC; other normalizers are not yet supported");
  }
}

std::string Normalizer::Normalize(std::string_view text) const {
  std::string normalized(text);
  for (const auto& step : steps_) {
    if (const auto* prepend = std::get_if<Prepend>(&step)) {
      if (!normalized.empty()) normalized.insert(0, prepend->prefix);
    } else if (const auto* replace = std::get_if<Replace>(&step)) {
      normalized = ReplaceAll(replace->pattern, normalized, replace->content);
    } else {
      normalized = ToNfc(normalized);
    }
  }
  return normalized;
}

}  // namespace trainctl::data
