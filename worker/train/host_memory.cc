#include "worker/train/host_memory.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/file.h"

namespace trainctl::train {
namespace {

constexpr size_t kMaxFileBytes = size_t{1} << 20;

std::optional<int64_t> FirstNumber(std::string_view text) {
  const size_t digit = text.find_first_of("0123456789");
  int64_t value = 0;
  if (digit == std::string_view::npos) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data() + digit, text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

std::optional<int64_t> NumberIn(const std::string& path) {
  const auto text = base::ReadFile(path, kMaxFileBytes);
  return text ? FirstNumber(*text) : std::nullopt;  // "max": no limit
}

std::optional<int64_t> MemAvailable() {
  const auto text = base::ReadFile("/proc/meminfo", kMaxFileBytes);
  const size_t line = text ? text->find("MemAvailable:") : std::string::npos;
  if (line == std::string::npos) return std::nullopt;
  const auto kib = FirstNumber(std::string_view(*text).substr(line));
  return kib ? std::optional(*kib * 1024) : std::nullopt;
}

// Of the group at the root of what this process sees: a container's.
std::optional<int64_t> LeftInGroup() {
  const auto most = NumberIn("/sys/fs/cgroup/memory.max"), used = NumberIn("/sys/fs/cgroup/memory.current");
  if (!most || !used) return std::nullopt;
  return std::max<int64_t>(0, *most - *used);
}

}  // namespace

int64_t AvailableHostBytes() {
  const std::optional<int64_t> host = MemAvailable(), group = LeftInGroup();
  if (host && group) return std::min(*host, *group);
  return host.value_or(group.value_or(0));
}

}  // namespace trainctl::train
