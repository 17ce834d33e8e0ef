// The target of an HTTP request: "/api/job?job=j12" as a path and what is asked. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace trainctl::web {

struct Target {
  std::string path;
  std::multimap<std::string, std::string> query;  // decoded

  // "" where it is not asked for.
  std::string One(const std::string& key) const;
  std::vector<std::string> All(const std::string& key) const;
};

// kInvalid: no path, a broken escape, text that is no UTF-8, or more than kMaxParameters.
inline constexpr size_t kMaxParameters = 1100;
base::Result<Target> ParseTarget(std::string_view text);

// A parameter that is a number from `least` to `most`; `otherwise` where it is not given. kInvalid.
struct Bounds {
  int64_t least = 0;
  int64_t most = 0;
  int64_t otherwise = 0;
};
base::Result<int64_t> NumberOf(const Target& target, const std::string& key, const Bounds& bounds);

}  // namespace trainctl::web
