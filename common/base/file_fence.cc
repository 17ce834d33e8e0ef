#include "common/base/file_fence.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <system_error>

#include "common/base/descriptor.h"
#include "common/base/error_number.h"

#ifndef LANDLOCK_ACCESS_FS_REFER
#define LANDLOCK_ACCESS_FS_REFER (1ULL << 13)
#endif
#ifndef LANDLOCK_ACCESS_FS_TRUNCATE
#define LANDLOCK_ACCESS_FS_TRUNCATE (1ULL << 14)
#endif

namespace trainctl::base {
namespace {

constexpr uint64_t kRead = LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kWrite =
    LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE |
    LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
    LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK |
    LANDLOCK_ACCESS_FS_MAKE_SYM | LANDLOCK_ACCESS_FS_REFER | LANDLOCK_ACCESS_FS_TRUNCATE;
// What a rule of a file that is no folder may name.
constexpr uint64_t kOfFiles =
    LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_TRUNCATE;
constexpr const char* kSystem[] = {"/usr", "/lib",  "/lib64", "/bin", "/sbin",
                                   "/etc", "/proc", "/sys",   "/dev", "/run"};

// 0: there is no Landlock.
long KernelVersion() {
  return std::max(
      0L, ::syscall(SYS_landlock_create_ruleset, nullptr, 0, LANDLOCK_CREATE_RULESET_VERSION));
}

// Of what it knows: version 2 came with REFER, 3 with TRUNCATE.
uint64_t Known(uint64_t access) {
  const long version = KernelVersion();
  if (version < 3) access &= ~LANDLOCK_ACCESS_FS_TRUNCATE;
  return version < 2 ? access & ~LANDLOCK_ACCESS_FS_REFER : access;
}

// Of the program and its libraries, which load more of their kind later.
// A mapping may bear the name of no file ("/memfd:tsan (deleted)"), whose folder would be "/".
std::set<std::string> FoldersOfMappedFiles() {
  std::set<std::string> folders;
  std::error_code ignored;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::string addresses, permissions, offset, device, inode, name;
    fields >> addresses >> permissions >> offset >> device >> inode >> std::ws;
    std::getline(fields, name);
    if (!permissions.ends_with("xp") || !std::filesystem::is_regular_file(name, ignored)) continue;
    folders.insert(std::filesystem::path(name).parent_path().string());
  }
  return folders;
}

class Ruleset {
 public:
  explicit Ruleset(uint64_t handled) : handled_(handled) {
    landlock_ruleset_attr attributes = {};
    attributes.handled_access_fs = handled;
    rules_ = Descriptor(static_cast<int>(
        ::syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes, 0)));
  }

  void Allow(const std::string& path, uint64_t access) {
    const Descriptor place(::open(path.c_str(), O_PATH | O_CLOEXEC));
    struct stat status{};
    if (!place.open() || ::fstat(place.get(), &status) != 0) return;
    if (!S_ISDIR(status.st_mode)) access &= kOfFiles;
    landlock_path_beneath_attr rule = {};
    rule.allowed_access = access & handled_;
    rule.parent_fd = place.get();
    if (rule.allowed_access == 0) return;
    ::syscall(SYS_landlock_add_rule, rules_.get(), LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
  }

  Status Enforce() {
    const bool enforced = rules_.open() && ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                          ::syscall(SYS_landlock_restrict_self, rules_.get(), 0) == 0;
    if (enforced) return Ok{};
    return OsError("cannot keep the job to its folders", errno);
  }

 private:
  const uint64_t handled_;
  Descriptor rules_;
};

}  // namespace

bool HasFileFence() { return KernelVersion() > 0; }

Status Enclose(const FileFence& fence) {
  const uint64_t handled =
      Known((fence.roots.read.empty() ? 0 : kRead) | (fence.roots.write.empty() ? 0 : kWrite));
  if (handled == 0 || !HasFileFence()) return Ok{};
  Ruleset rules(handled);
  for (const char* folder : kSystem) rules.Allow(folder, kRead);
  for (const std::string& folder : FoldersOfMappedFiles()) rules.Allow(folder, kRead);
  for (const char* folder : {"/dev", "/proc"}) rules.Allow(folder, kRead | kWrite);
  for (const auto* folders : {&fence.roots.read, &fence.also_read})
    for (const std::string& folder : *folders) rules.Allow(folder, kRead);
  for (const auto* folders : {&fence.roots.write, &fence.also_write})
    for (const std::string& folder : *folders) rules.Allow(folder, kRead | kWrite);
  return rules.Enforce();
}

}  // namespace trainctl::base
