#include <algorithm>
#include <array>

#include "server/core/rows.h"

namespace trainctl::core {
namespace {

constexpr std::array<std::string_view, 4> kTrials = {"none", "due", "passed",
                                                     "failed"};  // in the order of the enum

}  // namespace

std::string_view Name(Trial trial) { return kTrials.at(static_cast<size_t>(trial)); }

std::optional<Trial> ParseTrial(std::string_view name) {
  const auto found = std::find(kTrials.begin(), kTrials.end(), name);
  if (found == kTrials.end()) return std::nullopt;
  return static_cast<Trial>(found - kTrials.begin());
}

}  // namespace trainctl::core
