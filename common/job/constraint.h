// What a job asks of its devices: "gpu.memory": ">=40GiB", "gpu.compute_capability": ">=8.0",
// "gpu.model": "=H100,H200" (one whose name has one of these in it, in any case), "gpu.name":
// "=NVIDIA H200" (the whole name). Or of its workers: "host": "=node1,node2" is one of these,
// "!=node3" another than that one; "label.rack": "=r1" (labels.h) likewise. Or of what joins them:
// "gpu.links": ">=PIX" (linked_gang.h). Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "common/job/site.h"

namespace trainctl::job {

enum class Comparison { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

struct Constraint {
  // gpu.memory | gpu.compute_capability | gpu.links | gpu.model | gpu.name | host | label.KEY
  std::string key;
  Comparison comparison = Comparison::kEqual;
  int64_t number = 0;  // gpu.memory: bytes; gpu.compute_capability: 1000 · major + minor;
                       // gpu.links: a LinkKind
  std::vector<std::string> names;  // of the others: one of them; but one where it is gpu.name
};

// An operator (=, !=, <, <=, >, >=) and a value; names know = and != only. kInvalid says what was
// expected.
base::Result<Constraint> ParseConstraint(std::string_view key, std::string_view text);

// Whether constraints of that key speak of the device's worker, not of the device.
bool IsOfWorker(std::string_view key);
// What follows "label." in such a key; empty: it is another.
std::string_view LabelKeyOf(std::string_view key);

// GPU constraints are never met by a CPU slot. A worker without the label is not of any value. Any
// GPU meets gpu.links by itself.
bool Meets(const Constraint& constraint, const SiteDevice& device);
// The same of one that speaks of the device's worker (IsOfWorker).
bool MeetsOfWorker(const Constraint& constraint, const std::string& host, const Labels& labels);
// Of gpu.links: whether such a link will do. One that is not known will not.
bool MeetsLink(const Constraint& constraint, LinkKind link);

// Whether the device's name has this part in it, in any case ("h200").
bool IsInModel(std::string_view part, std::string_view device_name);

inline constexpr std::string_view kLinksKey = "gpu.links";

}  // namespace trainctl::job
