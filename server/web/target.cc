#include "server/web/target.h"

#include <algorithm>
#include <optional>

#include "common/base/parse_number.h"
#include "common/base/utf8.h"

namespace trainctl::web {
namespace {

base::Error InvalidTarget(const std::string& why) { return {base::Code::kInvalid, why}; }

int HexDigit(char digit) {
  if (digit >= '0' && digit <= '9') return digit - '0';
  if (digit >= 'a' && digit <= 'f') return digit - 'a' + 10;
  if (digit >= 'A' && digit <= 'F') return digit - 'A' + 10;
  return -1;
}

// application/x-www-form-urlencoded: "+" is a space. nullopt: a broken escape.
std::optional<std::string> Decoded(std::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      decoded += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size()) return std::nullopt;
    const int high = HexDigit(text[i + 1]), low = HexDigit(text[i + 2]);
    if (high < 0 || low < 0) return std::nullopt;
    decoded += static_cast<char>(high * 16 + low);
    i += 2;
  }
  if (base::FindInvalidUtf8(decoded)) return std::nullopt;
  return decoded;
}

}  // namespace

std::string Target::One(const std::string& key) const {
  const auto found = query.find(key);
  return found == query.end() ? "" : found->second;
}

std::vector<std::string> Target::All(const std::string& key) const {
  std::vector<std::string> values;
  const auto [first, last] = query.equal_range(key);
  for (auto at = first; at != last; ++at) values.push_back(at->second);
  return values;
}

base::Result<Target> ParseTarget(std::string_view text) {
  const size_t question = std::min(text.find('?'), text.size());
  const auto path = Decoded(text.substr(0, question));
  if (!path || path->empty() || path->front() != '/')
    return InvalidTarget("the request's target is no path");
  Target target{*path, {}};
  std::string_view rest = text.substr(std::min(question + 1, text.size()));
  while (!rest.empty()) {
    const size_t end = std::min(rest.find('&'), rest.size());
    const std::string_view pair = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    if (pair.empty()) continue;
    const size_t equals = std::min(pair.find('='), pair.size());
    const auto key = Decoded(pair.substr(0, equals));
    const auto value = Decoded(pair.substr(std::min(equals + 1, pair.size())));
    if (!key || !value) return InvalidTarget("a parameter has a broken escape, or is no UTF-8");
    target.query.emplace(*key, *value);
    if (target.query.size() > kMaxParameters)
      return InvalidTarget("more than " + std::to_string(kMaxParameters) + " parameters");
  }
  return target;
}

base::Result<int64_t> NumberOf(const Target& target, const std::string& key, const Bounds& bounds) {
  const std::string text = target.One(key);
  if (text.empty()) return bounds.otherwise;
  const auto number = base::ParseNumber(text);
  if (number && *number >= bounds.least && *number <= bounds.most) return *number;
  return InvalidTarget(key + ": '" + base::Excerpt(text, 64) + "': expected a number from " +
                       std::to_string(bounds.least) + " to " + std::to_string(bounds.most));
}

}  // namespace trainctl::web
