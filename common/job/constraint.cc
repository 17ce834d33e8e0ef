#include "common/job/constraint.h"

#include <array>
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

constexpr std::array<std::string_view, 4> kKeys = {"gpu.memory", "gpu.compute_capability",
                                                   "gpu.name", "host"};

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

base::Result<Constraint> WithName(Constraint constraint, std::string_view name) {
  const bool is_equality =
      constraint.comparison == Comparison::kEqual || constraint.comparison == Comparison::kNotEqual;
  if (!is_equality || name.empty()) return Invalid("= or != and a name");
  constraint.text = name;
  return constraint;
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
  if (key == "gpu.name" || key == "host") return WithName(constraint, comparison ? text : "");
  const std::string hint = base::DidYouMean(key, kKeys);
  return Invalid("one of gpu.memory, gpu.compute_capability, gpu.name, host" +
                 (hint.empty() ? "" : "; " + hint));
}

bool Meets(const Constraint& constraint, const SiteDevice& device) {
  if (constraint.key == "host")
    return Holds(constraint.comparison, device.host <=> constraint.text);
  if (device.kind != DeviceKind::kCuda) return false;
  if (constraint.key == "gpu.name")
    return Holds(constraint.comparison, device.name <=> constraint.text);
  if (constraint.key == "gpu.memory")
    return Holds(constraint.comparison, device.memory_bytes <=> constraint.number);
  const std::optional<int64_t> capability = ParseCapability(device.compute_capability);
  return capability && Holds(constraint.comparison, *capability <=> constraint.number);
}

}  // namespace trainctl::job
