// A Unix account of this host, and becoming it: how a process of root gives up being root, for one
// whose files and processes are another's from then on.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "common/base/result.h"

namespace trainctl::base {

struct UnixAccount {
  std::string name;
  uid_t user = 0;
  gid_t group = 0;
  std::string home;
};

inline constexpr uid_t kLeastUser = 1000;  // below it are root and the system's own accounts

// kDenied: this host has no such account, or it is root's or the system's. kIo: who knows the
// accounts does not answer. Blocks as long as that takes; thread-safe.
Result<UnixAccount> FindAccount(const std::string& name);

// The account's name, else its number. Blocks as FindAccount does; thread-safe.
std::string UserName(uid_t user);

// Whether this process is root with what it takes: to become others, to give them files, and to end
// what they run. kDenied: it is not; the message says what is missing.
Status CheckMayBecomeOthers();

// The same environment of a process of this account: its home and name, and none of the folders of
// whoever it comes from (XDG_CACHE_HOME and its like). NAME=value. Pure.
std::vector<std::string> EnvironmentOf(const UnixAccount& account,
                                       std::vector<std::string> environment);

// This process is the account's for good, with all of its groups and the usual umask. Only in a
// process of root without other threads. kDenied, kIo: it must end then.
Status Become(const UnixAccount& account);

// The same of what the calling thread does with files, and of no other thread.
Status BecomeForFiles(const UnixAccount& account);

}  // namespace trainctl::base
