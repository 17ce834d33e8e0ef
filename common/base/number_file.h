// Files that hold one number, as those of /proc and of cgroups do.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace trainctl::base {

// The number that the file begins with; nullopt where there is no such file, or no number ("max":
// no limit). Thread-safe.
std::optional<int64_t> ReadNumberFile(const std::string& path);

}  // namespace trainctl::base
