#include "common/base/number_file.h"

#include <cstdlib>

#include "common/base/file.h"

namespace trainctl::base {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

}  // namespace

std::optional<int64_t> ReadNumberFile(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kMaxBytes);
  if (!text) return std::nullopt;
  char* end = nullptr;
  const long long value = std::strtoll(text->c_str(), &end, 10);
  return end == text->c_str() ? std::nullopt : std::optional<int64_t>(value);
}

}  // namespace trainctl::base
