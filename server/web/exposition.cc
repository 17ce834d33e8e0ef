#include "server/web/exposition.h"

#include <charconv>
#include <cmath>

namespace trainctl::web {
namespace {

// Of a label's value; of help it does no harm.
std::string EscapedLabel(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '\n') {
      escaped += "\\n";
    } else {
      if (c == '\\' || c == '"') escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

std::string NumberText(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return std::string(text, end);
}

}  // namespace

void Exposition::Family(std::string_view name, std::string_view type, std::string_view help) {
  family_ = name;
  text_ += "# HELP " + family_ + ' ' + std::string(help) + '\n';
  text_ += "# TYPE " + family_ + ' ' + std::string(type) + '\n';
}

void Exposition::Line(std::string_view suffix, const Labels& labels, double value) {
  text_ += family_ + std::string(suffix);
  char before = '{';
  for (const auto& [name, text] : labels) {
    text_ += before + std::string(name) + "=\"" + EscapedLabel(text) + '"';
    before = ',';
  }
  text_ += std::string(labels.empty() ? "" : "}") + ' ' + NumberText(value) + '\n';
}

void Exposition::Samples(const Labels& labels, const meters::Histogram::Counts& counts) {
  int64_t below = 0;
  for (size_t i = 0; i < counts.buckets.size(); ++i) {
    below += counts.buckets[i];
    Labels with_end = labels;
    const bool is_last = i == meters::Histogram::kBounds.size();
    with_end.emplace_back("le", is_last ? "+Inf" : NumberText(meters::Histogram::kBounds[i]));
    Line("_bucket", with_end, static_cast<double>(below));
  }
  Line("_sum", labels, counts.total_seconds);
  Line("_count", labels, static_cast<double>(below));
}

}  // namespace trainctl::web
