// What a job asks of its devices: "gpu.memory": ">=40GiB", "gpu.compute_capability": ">=8.0",
// "gpu.name": "=NVIDIA H200", "host":
// "!=node3". Pure.
#pragma once

#include <string>
#include <string_view>

#include "common/base/result.h"
#include "common/job/site.h"

namespace trainctl::job {

enum class Comparison { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

struct Constraint {
  std::string key;  // gpu.memory | gpu.compute_capability | gpu.name | host
  Comparison comparison = Comparison::kEqual;
  int64_t number = 0;  // gpu.memory: bytes; gpu.compute_capability: 1000 · major + minor
  std::string text;    // of the others
};

// An operator (=, !=, <, <=, >, >=) and a value; names know = and != only. kInvalid says what was
// expected.
base::Result<Constraint> ParseConstraint(std::string_view key, std::string_view text);

// GPU constraints are never met by a CPU slot.
bool Meets(const Constraint& constraint, const SiteDevice& device);

}  // namespace trainctl::job
