#include "worker/shim/cgroup_leaf.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <cstdlib>
#include <sstream>
#include <string_view>

#include "common/base/descriptor.h"
#include "common/base/file.h"

namespace trainctl::shim {
namespace {

constexpr size_t kMaxBytes = 1 << 20;

bool Exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

bool WriteTo(const std::string& path, const std::string& text) {
  const base::Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  return file.open() &&
         ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
}

// The path behind "<hierarchy>:<controllers>:" of this process; empty where it is in no such
// hierarchy.
std::string OwnPath(std::string_view controllers) {
  const base::Result<std::string> text = base::ReadFile("/proc/self/cgroup", kMaxBytes);
  if (!text) return {};
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = line.find(':', first + 1);
    if (second != std::string::npos && line.substr(first + 1, second - first - 1) == controllers)
      return line.substr(second + 1);
  }
  return {};
}

}  // namespace

std::string OwnCgroup() {
  const std::string path = OwnPath("");
  if (path.empty()) return {};
  for (const std::string mount : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"}) {
    if (Exists(mount + "/cgroup.procs") && Exists(mount + path))
      return path == "/" ? mount : mount + path;
  }
  return {};
}

std::optional<CgroupLeaf> CgroupLeaf::Create(const std::string& parent, const std::string& name) {
  if (parent.empty()) return std::nullopt;
  CgroupLeaf leaf(parent + "/" + name);
  if (::mkdir(leaf.path_.c_str(), 0755) != 0) return std::nullopt;
  if (Exists(leaf.path_ + "/cgroup.kill") && Exists(leaf.path_ + "/cgroup.events")) return leaf;
  leaf.Remove();
  return std::nullopt;
}

bool CgroupLeaf::Add(pid_t pid) const {
  return WriteTo(path_ + "/cgroup.procs", std::to_string(pid));
}

bool CgroupLeaf::Kill() const { return WriteTo(path_ + "/cgroup.kill", "1"); }

bool CgroupLeaf::Populated() const {
  const base::Result<std::string> events = base::ReadFile(path_ + "/cgroup.events", kMaxBytes);
  return events && events->find("populated 1") != std::string::npos;
}

void CgroupLeaf::Remove() const { ::rmdir(path_.c_str()); }

std::optional<int64_t> ReadOomKills(const std::string& path) {
  const base::Result<std::string> text = base::ReadFile(path, kMaxBytes);
  if (!text) return std::nullopt;
  std::istringstream lines(*text);
  std::string key;
  for (int64_t value = 0; lines >> key >> value;) {
    if (key == "oom_kill") return value;
  }
  return std::nullopt;
}

int64_t OomKills() {
  for (const std::string& path :
       {OwnCgroup() + "/memory.events",
        "/sys/fs/cgroup/memory" + OwnPath("memory") + "/memory.oom_control",
        std::string("/proc/vmstat")}) {
    if (const std::optional<int64_t> kills = ReadOomKills(path)) return *kills;
  }
  return 0;
}

}  // namespace trainctl::shim
