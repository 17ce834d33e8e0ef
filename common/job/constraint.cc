#include "common/job/constraint.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <compare>
#include <optional>

#include "common/base/did_you_mean.h"
#include "common/base/size.h"

namespace trainctl::job {
namespace {

struct Operator {
  std::string_view spelling;
  Comparison comparison;
};

// Longer spellings first: ">=" before ">".
constexpr std::array<Operator, 6> kOperators = {{{">=", Comparison::kGreaterEqual},
                                                 {"<=", Comparison::kLessEqual},
                                                 {"!=", Comparison::kNotEqual},
                                                 {"=", Comparison::kEqual},
                                                 {">", Comparison::kGreater},
                                                 {"<", Comparison::kLess}}};

constexpr std::string_view kHost = "host", kLabel = "label.";

constexpr std::array<std::string_view, 7> kKeys = {
    "gpu.memory", "gpu.compute_capability", kLinksKey, "gpu.model", "gpu.name", kHost, "label.KEY"};

base::Error Invalid(std::string message) { return {base::Code::kInvalid, std::move(message)}; }

// "8.0" → 8000, "9" → 9000: comparable as a number where 12.10 is above 12.9.
std::optional<int64_t> ParseCapability(std::string_view text) {
  int64_t major = 0, minor = 0;
  const char* const end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, major);
  if (error == std::errc() && at != end && *at == '.') {
    const auto fraction = std::from_chars(at + 1, end, minor);
    at = fraction.ptr;
    error = fraction.ec;
  }
  if (error != std::errc() || at != end || major < 0 || major > 999 || minor < 0 || minor > 999)
    return std::nullopt;
  return major * 1000 + minor;
}

bool Holds(Comparison comparison, std::strong_ordering order) {
  switch (comparison) {
    case Comparison::kEqual: return order == 0;
    case Comparison::kNotEqual: return order != 0;
    case Comparison::kLess: return order < 0;
    case Comparison::kLessEqual: return order <= 0;
    case Comparison::kGreater: return order > 0;
    case Comparison::kGreaterEqual: return order >= 0;
  }
  return false;
}

// Takes the operator from the front of text, and one space behind it.
std::optional<Comparison> TakeOperator(std::string_view& text) {
  for (const Operator& row : kOperators) {
    if (!text.starts_with(row.spelling)) continue;
    text.remove_prefix(row.spelling.size());
    if (text.starts_with(' ')) text.remove_prefix(1);
    return row.comparison;
  }
  return std::nullopt;
}

base::Result<Constraint> WithNumber(Constraint constraint, std::optional<int64_t> number,
                                    const char* expected) {
  if (!number) return Invalid(expected);
  constraint.number = *number;
  return constraint;
}

std::optional<int64_t> ParseLink(std::string_view text) {
  const std::optional<LinkKind> kind = FindLinkKind(text);
  return kind ? std::optional(static_cast<int64_t>(*kind)) : std::nullopt;
}

bool IsEquality(const Constraint& constraint) {
  return constraint.comparison == Comparison::kEqual ||
         constraint.comparison == Comparison::kNotEqual;
}

base::Result<Constraint> WithName(Constraint constraint, std::string_view name) {
  if (!IsEquality(constraint) || name.empty()) return Invalid("= or != and a name");
  constraint.names = {std::string(name)};
  return constraint;
}

// "node1,node2", with or without spaces behind the commas. None has a character of `without`.
base::Result<Constraint> WithList(Constraint constraint, std::string_view list,
                                  std::string_view without, const base::Error& expected) {
  if (!IsEquality(constraint)) return expected;
  for (bool more = true; more;) {
    const size_t comma = list.find(',');
    std::string_view name = list.substr(0, comma);
    while (name.starts_with(' ')) name.remove_prefix(1);
    while (name.ends_with(' ')) name.remove_suffix(1);
    if (name.empty() || name.find_first_of(without) != std::string_view::npos) return expected;
    constraint.names.emplace_back(name);
    more = comma != std::string_view::npos;
    if (more) list.remove_prefix(comma + 1);
  }
  return constraint;
}

base::Result<Constraint> WithNames(const Constraint& constraint, std::string_view list) {
  return WithList(constraint, list, " =!<>",
                  Invalid("= or != and names, such as \"=node1,node2\" for one of both"));
}

base::Result<Constraint> WithModels(const Constraint& constraint, std::string_view list) {
  return WithList(constraint, list, "=!<>",
                  Invalid("= or != and parts of names, such as \"=H100,H200\" for one of both"));
}

base::Result<Constraint> WithLabel(const Constraint& constraint, std::string_view list) {
  if (!IsLabelKey(LabelKeyOf(constraint.key)))
    return Invalid("a label's key behind \"label.\", such as \"label.rack\"");
  return WithNames(constraint, list);
}

bool IsOfModel(const Constraint& constraint, const std::string& name) {
  const bool is_one = std::ranges::any_of(
      constraint.names, [&](const std::string& part) { return IsInModel(part, name); });
  return is_one == (constraint.comparison == Comparison::kEqual);
}

bool IsAmong(const Constraint& constraint, const std::string& name) {
  const bool is_there = std::ranges::find(constraint.names, name) != constraint.names.end();
  return is_there == (constraint.comparison == Comparison::kEqual);
}

}  // namespace

base::Result<Constraint> ParseConstraint(std::string_view key, std::string_view text) {
  const std::optional<Comparison> comparison = TakeOperator(text);
  Constraint constraint{.key = std::string(key),
                        .comparison = comparison.value_or(Comparison::kEqual)};
  if (key == "gpu.memory") {
    return WithNumber(constraint, comparison ? base::ParseBytes(text) : std::nullopt,
                      "an operator and a size, such as \">=40GiB\"");
  }
  if (key == "gpu.compute_capability") {
    return WithNumber(constraint, comparison ? ParseCapability(text) : std::nullopt,
                      "an operator and a capability, such as \">=8.0\"");
  }
  if (key == kLinksKey) {
    return WithNumber(constraint, comparison ? ParseLink(text) : std::nullopt,
                      "an operator and a kind of link, such as \">=PIX\": from the farthest SYS, "
                      "NODE, PHB, PXB, PIX, NVLink");
  }
  if (key == "gpu.model") return WithModels(constraint, comparison ? text : "");
  if (key == "gpu.name") return WithName(constraint, comparison ? text : "");
  if (key == kHost) return WithNames(constraint, comparison ? text : "");
  if (key.starts_with(kLabel)) return WithLabel(constraint, comparison ? text : "");
  const std::string hint = base::DidYouMean(key, kKeys);
  return Invalid(
      "one of gpu.memory, gpu.compute_capability, gpu.links, gpu.model, gpu.name, host, label.KEY" +
      (hint.empty() ? "" : "; " + hint));
}

bool IsInModel(std::string_view part, std::string_view device_name) {
  const auto is_same = [](unsigned char left, unsigned char right) {
    return std::tolower(left) == std::tolower(right);
  };
  return part.empty() || !std::ranges::search(device_name, part, is_same).empty();
}

bool IsOfWorker(std::string_view key) { return key == kHost || key.starts_with(kLabel); }

std::string_view LabelKeyOf(std::string_view key) {
  return key.starts_with(kLabel) ? key.substr(kLabel.size()) : std::string_view();
}

bool MeetsOfWorker(const Constraint& constraint, const std::string& host, const Labels& labels) {
  if (constraint.key == kHost) return IsAmong(constraint, host);
  const auto label = labels.find(constraint.key.substr(kLabel.size()));
  return IsAmong(constraint, label == labels.end() ? "" : label->second);
}

bool MeetsLink(const Constraint& constraint, LinkKind link) {
  return link != LinkKind::kUnknown &&
         Holds(constraint.comparison, static_cast<int64_t>(link) <=> constraint.number);
}

bool Meets(const Constraint& constraint, const SiteDevice& device) {
  if (IsOfWorker(constraint.key)) return MeetsOfWorker(constraint, device.host, device.labels);
  if (device.kind != DeviceKind::kCuda) return false;
  if (constraint.key == kLinksKey) return true;
  if (constraint.key == "gpu.model") return IsOfModel(constraint, device.name);
  if (constraint.key == "gpu.name") return IsAmong(constraint, device.name);
  if (constraint.key == "gpu.memory")
    return Holds(constraint.comparison, device.memory_bytes <=> constraint.number);
  const std::optional<int64_t> capability = ParseCapability(device.compute_capability);
  return capability && Holds(constraint.comparison, *capability <=> constraint.number);
}

}  // namespace trainctl::job
