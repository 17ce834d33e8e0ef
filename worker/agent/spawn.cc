#include "worker/agent/spawn.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "common/base/error_number.h"

namespace trainctl::agent {
namespace {

// What the child does between its start and its program; frees itself.
struct Actions {
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;

  Actions() {
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawnattr_init(&attributes);
  }
  ~Actions() {
    ::posix_spawn_file_actions_destroy(&files);
    ::posix_spawnattr_destroy(&attributes);
  }

  void ResetSignals() {
    sigset_t all, none;
    ::sigfillset(&all);
    ::sigemptyset(&none);
    ::posix_spawnattr_setsigdefault(&attributes, &all);
    ::posix_spawnattr_setsigmask(&attributes, &none);
    ::posix_spawnattr_setflags(&attributes,
                               POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  }

  void Place(int fd, int number) { ::posix_spawn_file_actions_adddup2(&files, fd, number); }
  void Open(const char* path, int flags, int number) {
    ::posix_spawn_file_actions_addopen(&files, number, path, flags, 0644);
  }
};

std::vector<char*> Pointers(const std::vector<std::string>& strings) {
  std::vector<char*> pointers;
  for (const std::string& string : strings) pointers.push_back(const_cast<char*>(string.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

base::Result<pid_t> Spawn(const SpawnOptions& options) {
  Actions actions;
  actions.ResetSignals();
  if (options.input_fd >= 0)
    actions.Place(options.input_fd, STDIN_FILENO);
  else
    actions.Open("/dev/null", O_RDONLY, STDIN_FILENO);
  for (const auto& [fd, number] :
       {std::pair(options.output_fd, STDOUT_FILENO), std::pair(options.error_fd, STDERR_FILENO)}) {
    if (fd >= 0)
      actions.Place(fd, number);
    else
      actions.Open(options.output_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, number);
  }
  pid_t pid = 0;
  const int error =
      ::posix_spawnp(&pid, options.arguments[0].c_str(), &actions.files, &actions.attributes,
                     Pointers(options.arguments).data(), Pointers(options.environment).data());
  if (error == 0) return pid;
  return base::OsError("cannot run " + options.arguments[0], error);
}

std::vector<std::string> WithVariables(std::vector<std::string> base,
                                       const std::vector<std::string>& additions) {
  for (const std::string& addition : additions) {
    const std::string name = addition.substr(0, addition.find('=') + 1);
    std::erase_if(base, [&](const std::string& entry) { return entry.starts_with(name); });
    base.push_back(addition);
  }
  return base;
}

}  // namespace trainctl::agent
