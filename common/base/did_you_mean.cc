#include "common/base/did_you_mean.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace trainctl::base {
namespace {

constexpr size_t kLongestName = 64;

char Lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// Optimal string alignment distance (Damerau–Levenshtein without repeated edits of one place). Both
// at most kLongestName long.
size_t EditDistance(std::string_view a, std::string_view b) {
  using Row = std::array<size_t, kLongestName + 1>;
  Row before_last{}, last{}, row{};
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const bool same = Lower(a[i - 1]) == Lower(b[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && Lower(a[i - 1]) == Lower(b[j - 2]) &&
                           Lower(a[i - 2]) == Lower(b[j - 1]);
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = last;
    last = row;
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string_view> Closest(std::string_view name,
                                        std::span<const std::string_view> candidates) {
  std::optional<std::string_view> closest;
  size_t fewest = 0;
  for (const std::string_view candidate : candidates) {
    if (name.size() > kLongestName || candidate.size() > kLongestName) continue;
    const size_t edits = EditDistance(name, candidate);
    const size_t allowed = std::max<size_t>(1, std::max(name.size(), candidate.size()) / 3);
    if (edits > allowed || (closest && edits >= fewest)) continue;
    closest = candidate;
    fewest = edits;
  }
  return closest;
}

std::optional<std::string_view> OnlyBeginning(std::string_view name,
                                              std::span<const std::string_view> candidates) {
  if (name.size() < 2) return std::nullopt;
  std::optional<std::string_view> only;
  for (const std::string_view candidate : candidates) {
    if (!std::ranges::equal(name, candidate.substr(0, name.size()), {}, Lower, Lower)) continue;
    if (only) return std::nullopt;
    only = candidate;
  }
  return only;
}

std::string DidYouMean(std::string_view name, std::span<const std::string_view> candidates) {
  auto meant = Closest(name, candidates);
  if (!meant) meant = OnlyBeginning(name, candidates);
  if (!meant) return "";
  return "did you mean '" + std::string(*meant) + "'?";
}

std::string WithHint(const std::string& what, const std::string& hint, const std::string& more) {
  return what + (hint.empty() ? "; " + more : ": " + hint + " (" + more + ")");
}

}  // namespace trainctl::base
