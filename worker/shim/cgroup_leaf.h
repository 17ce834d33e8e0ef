// A leaf of the cgroup v2 tree for one rank, where this process may make one: everything the rank
// ever starts stays in it, and one write ends it all. Uses only cgroup.procs, cgroup.kill and
// cgroup.events; enables no controllers. Elsewhere (cgroup v1, a read-only tree, kernels
// before 5.14) the shim does without: process group and subreaper.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace trainctl::shim {

// This process's folder in the cgroup v2 tree; empty where there is none.
std::string OwnCgroup();

class CgroupLeaf {
 public:
  // Makes <parent>/<name>. nullopt: not allowed, the kernel has no cgroup.kill, or there is such a
  // folder already (another rank's).
  static std::optional<CgroupLeaf> Create(const std::string& parent, const std::string& name);
  // One that an earlier process made.
  explicit CgroupLeaf(std::string path) : path_(std::move(path)) {}

  const std::string& path() const { return path_; }
  bool Add(pid_t pid) const;
  // Ends all processes in it.
  bool Kill() const;
  // Whether any process is in it. False where it can't be read.
  bool Populated() const;
  // Removes the empty leaf.
  void Remove() const;

 private:
  std::string path_;
};

// How many processes the kernel's OOM killer has ended in this process's cgroup. If cgroups don't
// tell, those on this host count.
int64_t OomKills();
// "oom_kill 3" in memory.events, memory.oom_control (cgroup v1) or /proc/vmstat.
std::optional<int64_t> ReadOomKills(const std::string& path);

}  // namespace trainctl::shim
