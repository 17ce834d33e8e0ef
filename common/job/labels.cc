#include "common/job/labels.h"

#include <algorithm>

#include "common/base/utf8.h"

namespace trainctl::job {
namespace {

bool IsPlain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '_' || c == '-';
}

bool IsOf(std::string_view text, std::string_view more) {
  return !text.empty() && text.size() <= kMaxLabelBytes && std::ranges::all_of(text, [&](char c) {
    return IsPlain(c) || more.find(c) != std::string_view::npos;
  });
}

base::Error NoLabel(std::string_view text) {
  return {
      base::Code::kInvalid,
      "'" + base::Excerpt(text, 2 * kMaxLabelBytes) +
          "': expected KEY=VALUE of letters, digits and . _ - (a value also : and /), at most " +
          std::to_string(kMaxLabelBytes) + " each"};
}

}  // namespace

bool IsLabelKey(std::string_view text) { return IsOf(text, ""); }
bool IsLabelValue(std::string_view text) { return IsOf(text, ":/"); }

base::Result<std::pair<std::string, std::string>> ParseLabel(std::string_view text) {
  const size_t equals = text.find('=');
  if (equals == std::string_view::npos) return NoLabel(text);
  const std::string_view key = text.substr(0, equals), value = text.substr(equals + 1);
  if (!IsLabelKey(key) || !IsLabelValue(value)) return NoLabel(text);
  return std::pair(std::string(key), std::string(value));
}

std::string LabelsText(const Labels& labels) {
  std::string text;
  for (const auto& [key, value] : labels) {
    if (!text.empty()) text += ',';
    text.append(key).append("=").append(value);
  }
  return text;
}

base::Result<Labels> ParseLabels(std::string_view text) {
  Labels labels;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    auto label = ParseLabel(text.substr(0, comma));
    if (!label) return label.error();
    labels.insert_or_assign(std::move(label->first), std::move(label->second));
    if (labels.size() > kMaxLabels) {
      return base::Error{base::Code::kInvalid,
                         "more than " + std::to_string(kMaxLabels) + " labels"};
    }
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return labels;
}

}  // namespace trainctl::job
