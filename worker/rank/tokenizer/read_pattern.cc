#include "worker/rank/tokenizer/read_pattern.h"

namespace trainctl::data {

Regex ReadPattern(const files::JsonObject& component) {
  const files::JsonObject pattern = component.Object("pattern");
  if (pattern.Get("Regex") == nullptr) return Regex::Literal(pattern.Text("String"));
  auto regex = Regex::Compile(pattern.Text("Regex"));
  if (regex) return *regex;
  pattern.Fail(regex.error().message);
  return Regex::Literal("");
}

}  // namespace trainctl::data
