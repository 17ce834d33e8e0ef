// Why which runs are not comparable, and in which rows. Inside this room only.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/compare/compare.h"

namespace trainctl::compare {

// One a run; runs of one kind are comparable. nullopt: not known, and comparable with every kind.
using Kinds = std::vector<std::optional<std::string>>;

using KindOf = std::function<std::string(const Run&)>;

// What is empty is not known.
Kinds KindsOf(const std::vector<Run>& runs, const KindOf& kind_of);

// Each run of which it holds is of a kind of its own; all others are of one.
Kinds Apart(const std::vector<Run>& runs, const std::function<bool(const Run&)>& is_apart);

// The known kinds in order of the runs: "8, 32". Empty where fewer than two are known to differ.
std::string Differing(const Kinds& kinds);
std::string Differing(const std::vector<Run>& runs, const KindOf& kind_of);

// Runs of different kinds are not comparable in these rows.
struct Doubt {
  std::vector<std::string> rows;  // keys; and sections, of which it is all
  Kinds kinds;
};

struct Comparability {
  std::vector<Warning> warnings;  // their sections: also those of which the table has no rows
  std::vector<Doubt> doubts;

  // Of the row's values of the runs at these places.
  bool AreComparable(const Row& row, size_t left, size_t right) const;
  // Of every two of so many runs.
  bool IsComparable(const Row& row, size_t runs) const;
};

// Adds a warning whose doubt is of all rows of its sections.
void Warn(Warning warning, Kinds kinds, Comparability* found);

std::string NameAndId(const Run& run);

// By what they trained and validated with, and how: why losses are not comparable.
void DoubtLosses(const std::vector<Run>& runs, Comparability* found);

}  // namespace trainctl::compare
