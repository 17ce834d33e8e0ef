#include "common/base/unix_account.h"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <vector>

#include "common/base/error_number.h"
#include "common/base/utf8.h"

namespace trainctl::base {
namespace {

constexpr size_t kMaxAccountBytes = 1 << 20;
constexpr size_t kMaxShownBytes = 64;

struct Needed {
  unsigned number;
  const char* name;
};
constexpr std::array<Needed, 5> kNeeded = {{{CAP_SETUID, "CAP_SETUID"},
                                            {CAP_SETGID, "CAP_SETGID"},
                                            {CAP_KILL, "CAP_KILL"},
                                            {CAP_CHOWN, "CAP_CHOWN"},
                                            {CAP_DAC_OVERRIDE, "CAP_DAC_OVERRIDE"}}};

constexpr const char* kOfUsers[] = {"HOME",           "USER",           "LOGNAME",
                                    "XDG_CACHE_HOME", "XDG_DATA_HOME",  "XDG_CONFIG_HOME",
                                    "XDG_STATE_HOME", "XDG_RUNTIME_DIR"};

Error Refused(const std::string& name, const std::string& why) {
  return {Code::kDenied, "user '" + Excerpt(name, kMaxShownBytes) + "' " + why};
}

// What getpwnam_r says of a name that nobody has, by its manual.
bool IsUnknown(int error) {
  return error == 0 || error == ENOENT || error == ESRCH || error == EBADF || error == EPERM;
}

uint64_t EffectiveCapabilities() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  if (::syscall(SYS_capget, &header, data) != 0) return 0;
  return data[0].effective | uint64_t{data[1].effective} << 32;
}

// For this thread alone: setgroups() of the C library is for all.
bool SetGroupsOfThread(const UnixAccount& account) {
  std::vector<gid_t> groups(64);
  int count = static_cast<int>(groups.size());
  if (::getgrouplist(account.name.c_str(), account.group, groups.data(), &count) < 0) {
    groups.resize(static_cast<size_t>(count));
    if (::getgrouplist(account.name.c_str(), account.group, groups.data(), &count) < 0)
      return false;
  }
  return ::syscall(SYS_setgroups, static_cast<size_t>(count), groups.data()) == 0;
}

}  // namespace

std::string UserName(uid_t user) {
  std::vector<char> bytes(4096);
  passwd record{};
  passwd* found = nullptr;
  while (::getpwuid_r(user, &record, bytes.data(), bytes.size(), &found) == ERANGE &&
         bytes.size() < kMaxAccountBytes)
    bytes.resize(2 * bytes.size());
  return found == nullptr ? std::to_string(user) : found->pw_name;
}

Result<UnixAccount> FindAccount(const std::string& name) {
  std::vector<char> bytes(4096);
  passwd record{};
  passwd* found = nullptr;
  int error = 0;
  while ((error = ::getpwnam_r(name.c_str(), &record, bytes.data(), bytes.size(), &found)) ==
             ERANGE &&
         bytes.size() < kMaxAccountBytes)
    bytes.resize(bytes.size() * 2);
  if (found == nullptr && IsUnknown(error)) return Refused(name, "has no account on this host");
  if (found == nullptr) return OsError("cannot look for the account of user '" + name + "'", error);
  if (record.pw_uid < kLeastUser) {
    return Refused(name, "is " + std::string(record.pw_uid == 0 ? "root" : "the system's own") +
                             " (uid " + std::to_string(record.pw_uid) + "): only accounts from " +
                             std::to_string(kLeastUser) + " on run jobs");
  }
  return UnixAccount{record.pw_name, record.pw_uid, record.pw_gid, record.pw_dir};
}

Status CheckMayBecomeOthers() {
  if (::geteuid() != 0) {
    return Error{Code::kDenied, "only root can start ranks as their jobs' owners: this is user " +
                                    std::to_string(::geteuid())};
  }
  const uint64_t held = EffectiveCapabilities();
  std::string missing;
  for (const Needed& needed : kNeeded) {
    if ((held >> needed.number & 1) == 0)
      missing += (missing.empty() ? "" : ", ") + std::string(needed.name);
  }
  if (missing.empty()) return Ok{};
  return Error{Code::kDenied, "to start ranks as their jobs' owners root needs " + missing +
                                  " too (CapabilityBoundingSet of the unit)"};
}

std::vector<std::string> EnvironmentOf(const UnixAccount& account,
                                       std::vector<std::string> environment) {
  std::erase_if(environment, [](const std::string& entry) {
    return std::ranges::any_of(
        kOfUsers, [&](const char* name) { return entry.starts_with(std::string(name) + "="); });
  });
  environment.insert(environment.end(),
                     {"HOME=" + account.home, "USER=" + account.name, "LOGNAME=" + account.name});
  return environment;
}

Status Become(const UnixAccount& account) {
  if (::initgroups(account.name.c_str(), account.group) != 0 ||
      ::setresgid(account.group, account.group, account.group) != 0 ||
      ::setresuid(account.user, account.user, account.user) != 0)
    return OsError("cannot become user " + account.name, errno);
  if (::setuid(0) == 0) return Refused(account.name, "could become root again");
  ::umask(022);
  if (::chdir("/") != 0) return OsError("cannot go to /", errno);
  return Ok{};
}

Status BecomeForFiles(const UnixAccount& account) {
  if (!SetGroupsOfThread(account))
    return OsError("cannot take the groups of user " + account.name, errno);
  ::setfsgid(account.group);
  ::setfsuid(account.user);
  // Of a value that none has they change nothing, and say what is.
  const auto group = static_cast<gid_t>(::setfsgid(static_cast<gid_t>(-1)));
  const auto user = static_cast<uid_t>(::setfsuid(static_cast<uid_t>(-1)));
  if (group == account.group && user == account.user) return Ok{};
  return Refused(account.name, "can't be taken for files");
}

}  // namespace trainctl::base
