// A real trainshim around a real fake_rank in a folder of its own, and a worker's end of its
// socket.
#pragma once

#include <sys/types.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "common/base/descriptor.h"
#include "tests/shim/mounts.h"

namespace trainctl::tests {

// Ends with the test: a shim that is still there is killed, and the folder removed.
class ShimUnderTest {
 public:
  struct Options {
    std::string subfolder;               // below the test's own, made if missing
    std::vector<std::string> arguments;  // to the shim
    std::vector<std::string> command;    // instead of fake_rank with the script
    int disk_kib = 0;                    // the folder is a file system of that size
    std::string deadline = {};           // deadline.json; empty: none
  };

  explicit ShimUnderTest(const std::string& script) : ShimUnderTest(script, Options()) {}
  ShimUnderTest(const std::string& script, const Options& options);
  ~ShimUnderTest();

  const std::string& folder() const { return folder_; }
  // Of options.disk_kib; not mounted where tests may not.
  const SmallDisk& disk() const { return *disk_; }
  pid_t pid() const { return pid_; }

  // Waits until the shim has ended; its exit status (128 + signal where one ended it).
  int Wait();
  // After Wait: what exit.json says.
  nlohmann::json Exit();
  // All messages that the spool holds, as they were said. Each says when it was heard.
  std::vector<nlohmann::json> Messages() const;

  // Connects as a worker does, waiting until the shim listens.
  base::Descriptor Connect() const;
  // Waits for a line from the shim: "data" with at least that many messages.
  static void AwaitMessages(const base::Descriptor& connection, int64_t messages);
  // Waits for a line from the shim of that type.
  static void AwaitLine(const base::Descriptor& connection, const std::string& type);
  static void Send(const base::Descriptor& connection, const std::string& line);

 private:
  void RemoveCgroup() const;

  std::string root_;
  std::string folder_;
  std::optional<SmallDisk> disk_;
  pid_t pid_ = 0;
};

// Whether the process has ended (or ends within the deadline).
bool Ends(pid_t pid);
// Whether the condition comes to hold within the deadline; for what only files tell.
bool Becomes(const std::function<bool()>& condition);

}  // namespace trainctl::tests
