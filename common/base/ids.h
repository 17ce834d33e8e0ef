// Strong ids. A job is j1, j2, … and a group g1, g2, … in everything that people read; inside they
// are integers that the coordinator's store hands out, never reused.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainctl::base {

template <class Tag>
struct Id {
  int64_t value = 0;  // 0 = none
  explicit operator bool() const { return value != 0; }
  auto operator<=>(const Id&) const = default;
};

using JobId = Id<struct JobTag>;
using GroupId = Id<struct GroupTag>;
using Attempt = Id<struct AttemptTag>;  // 1, 2, … within a job

std::string ToString(JobId id);    // "j12"
std::string ToString(GroupId id);  // "g3"

// Parse exactly what ToString wrote; nullopt for anything else.
std::optional<JobId> ParseJobId(std::string_view text);
std::optional<GroupId> ParseGroupId(std::string_view text);

}  // namespace trainctl::base
