#include "server/compare/doubts.h"

#include <algorithm>
#include <set>
#include <utility>

namespace trainctl::compare {
namespace {

bool IsOf(const Row& row, const Doubt& doubt) {
  return std::ranges::any_of(doubt.rows, [&row](const std::string& name) {
    return name == row.key || name == row.section;
  });
}

bool AreOfOneKind(const Kinds& kinds, size_t left, size_t right) {
  return !kinds[left] || !kinds[right] || *kinds[left] == *kinds[right];
}

}  // namespace

Kinds KindsOf(const std::vector<Run>& runs, const KindOf& kind_of) {
  Kinds kinds;
  for (const Run& run : runs) {
    std::string kind = kind_of(run);
    kinds.push_back(kind.empty() ? std::nullopt : std::optional(std::move(kind)));
  }
  return kinds;
}

Kinds Apart(const std::vector<Run>& runs, const std::function<bool(const Run&)>& is_apart) {
  Kinds kinds;
  for (const Run& run : runs) kinds.emplace_back(is_apart(run) ? run.id : std::string());
  return kinds;
}

std::string Differing(const Kinds& kinds) {
  std::set<std::string> seen;
  std::string text;
  for (const std::optional<std::string>& kind : kinds) {
    if (!kind || !seen.insert(*kind).second) continue;
    text += (text.empty() ? "" : ", ") + *kind;
  }
  return seen.size() < 2 ? "" : text;
}

std::string Differing(const std::vector<Run>& runs, const KindOf& kind_of) {
  return Differing(KindsOf(runs, kind_of));
}

bool Comparability::AreComparable(const Row& row, size_t left, size_t right) const {
  return std::ranges::none_of(doubts, [&](const Doubt& doubt) {
    return IsOf(row, doubt) && !AreOfOneKind(doubt.kinds, left, right);
  });
}

bool Comparability::IsComparable(const Row& row, size_t runs) const {
  for (size_t left = 0; left < runs; ++left) {
    for (size_t right = left + 1; right < runs; ++right) {
      if (!AreComparable(row, left, right)) return false;
    }
  }
  return true;
}

void Warn(Warning warning, Kinds kinds, Comparability* found) {
  found->doubts.push_back({.rows = warning.sections, .kinds = std::move(kinds)});
  found->warnings.push_back(std::move(warning));
}

std::string NameAndId(const Run& run) { return run.name + " (" + run.id + ")"; }

}  // namespace trainctl::compare
