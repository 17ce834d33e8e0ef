// The command line of traincoordinator.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "server/auth/unix_policy.h"
#include "server/auth/user_bounds.h"

namespace trainctl::coordinator {

struct Options {
  std::string listen = "127.0.0.1:7070";
  std::string site_keys;  // a folder (server/auth/site_keys.h): listen is with TLS; empty: without
  std::string listen_local;   // beside TLS, without it; empty: nowhere
  std::string directory;      // of the database and the logs
  std::string address_file;   // empty: none
  std::string dashboard;      // HOST:PORT; empty: none is served
  std::string dashboard_tls;  // HOST:PORT, by the site's keys; empty: none is served
  std::string dashboard_file;
  auth::UnixPolicy policy;
  auth::UserBounds bounds;
  std::string policy_file;                     // server/core/policy_file.h; empty: none
  std::optional<base::WallMicros> lent_until;  // core::Options
};

// traincoordinator init: makes the keys of a site; certify: its coordinator's certificate anew.
struct InitOptions {
  std::string directory;
  std::vector<std::string> hosts;  // by which people reach it; empty: not said
};

// Of main's arguments, the word init or certify included. nullopt: as ParseOptions.
std::optional<InitOptions> ParseInitOptions(int argc, const char* const* argv, int* exit_code);

// traincoordinator restore: a site's folder of a backup.
struct RestoreOptions {
  std::string file;
  std::string directory;
};

// As ParseInitOptions.
std::optional<RestoreOptions> ParseRestoreOptions(int argc, const char* const* argv,
                                                  int* exit_code);

// Of main's arguments. nullopt: nothing to run, the process ends with *exit_code: help and version
// were printed to stdout (0), or the fault to stderr (2). CLI11's exceptions end here.
std::optional<Options> ParseOptions(int argc, const char* const* argv, int* exit_code);

}  // namespace trainctl::coordinator
