#include "worker/rank/optim/host_memory.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <optional>
#include <sstream>

#include "common/base/file.h"
#include "common/base/number_file.h"
#include "common/base/size.h"

namespace trainctl::optim {
namespace {

constexpr size_t kMaxBytes = 1 << 20;
constexpr int64_t kReserveBytes = 256 << 20;

// Σ of the values behind these words, each at the beginning of a line; 0 for those that are
// missing.
int64_t SumOf(const std::string& path, std::initializer_list<const char*> words) {
  const base::Result<std::string> text = base::ReadFile(path, kMaxBytes);
  std::istringstream lines(text ? *text : "");
  int64_t sum = 0, value = 0;
  std::string word, rest;
  for (; lines >> word >> value; std::getline(lines, rest)) {
    if (std::find(words.begin(), words.end(), word) != words.end()) sum += value;
  }
  return sum;
}

// One version of the cgroup interface, by the names of its files.
struct CgroupVersion {
  std::string root;
  const char *limit, *usage;
  std::initializer_list<const char*> file_pages;
};

void Tighten(const CgroupVersion& version, std::string path, AvailableMemory& available) {
  for (;;) {
    const std::string folder = version.root + (path == "/" ? "" : path);
    const std::optional<int64_t> limit = base::ReadNumberFile(folder + version.limit);
    const std::optional<int64_t> usage = base::ReadNumberFile(folder + version.usage);
    if (limit && usage) {
      const int64_t used =
          std::max<int64_t>(0, *usage - SumOf(folder + "/memory.stat", version.file_pages));
      const int64_t left = std::max<int64_t>(0, *limit - used);
      if (left < available.bytes) available = {left, "the limit in " + folder + version.limit};
    }
    if (path.size() <= 1) return;
    path = path.substr(0, std::max<size_t>(1, path.rfind('/')));
  }
}

std::string InCommas(const std::string& text) { return std::string(",").append(text).append(","); }

// The path of the process's cgroup in the hierarchy of this controller ("": v2); "/" where it is in
// none.
std::string OwnCgroup(const std::string& proc, const std::string& controller) {
  const base::Result<std::string> text = base::ReadFile(proc + "/self/cgroup", kMaxBytes);
  std::istringstream lines(text ? *text : "");
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = InCommas(line.substr(first + 1, second - first - 1));
    const bool found = controllers.find(InCommas(controller)) != std::string::npos;
    if (found && line[second + 1] == '/') return line.substr(second + 1);
  }
  return "/";
}

}  // namespace

AvailableMemory AvailableHostMemory(const MemoryFiles& files) {
  AvailableMemory available{std::numeric_limits<int64_t>::max(), "nothing"};
  if (const int64_t free = SumOf(files.proc + "/meminfo", {"MemAvailable:"}); free > 0) {
    available = {free * 1024, "the host's available memory"};
  }
  Tighten({files.cgroup, "/memory.max", "/memory.current", {"inactive_file", "active_file"}},
          OwnCgroup(files.proc, ""), available);
  Tighten({files.cgroup + "/memory",
           "/memory.limit_in_bytes",
           "/memory.usage_in_bytes",
           {"total_inactive_file", "total_active_file"}},
          OwnCgroup(files.proc, "memory"), available);
  return available;
}

void RequireHostMemory(int64_t bytes, const std::string& what, const MemoryFiles& files) {
  const AvailableMemory available = AvailableHostMemory(files);
  if (bytes <= available.bytes - kReserveBytes) return;
  throw HostMemoryError("out of host memory: " + what + " needs " + base::FormatBytes(bytes) +
                        " (" + std::to_string(bytes) + " bytes), available are " +
                        base::FormatBytes(available.bytes) + " (" +
                        std::to_string(available.bytes) + " bytes, by " + available.bound +
                        "): give the job more host memory, or more devices under strategy fsdp");
}

}  // namespace trainctl::optim
