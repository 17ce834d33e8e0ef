// What /proc says about processes. A process is named by its id and its start time together: ids
// are used again, the pair is not (within one boot). Thread-safe: reads only.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace trainctl::shim {

struct ProcessStat {
  pid_t pid = 0;
  std::string name;  // of its program, at most 15 bytes
  char state = '?';  // as ps shows it: R S D Z …
  pid_t parent = 0;
  pid_t group = 0;
  pid_t session = 0;
  uint64_t cpu_ticks = 0;   // user and system
  uint64_t start_time = 0;  // ticks since boot
  int64_t resident_pages = 0;

  // Ended, though its parent may not have asked for its status yet.
  bool ended() const { return state == 'Z' || state == 'X'; }
};

// The content of /proc/<pid>/stat.
std::optional<ProcessStat> ParseStat(std::string_view text);
std::optional<ProcessStat> ReadStat(pid_t pid);

// All processes that this one may see.
std::vector<ProcessStat> ListProcesses();
// Children, their children, … of a process; those that have ended are left out.
std::vector<ProcessStat> Descendants(pid_t ancestor);

// Its arguments. Empty: it has ended, or may not be read. Blocks where a process hangs in the
// kernel: only for processes that are known by their name.
std::vector<std::string> ArgumentsOf(pid_t pid);

// Sends the signal to exactly this process: never to another that got its id. False: it is gone, or
// may not be signalled.
bool Signal(const ProcessStat& process, int signal);

}  // namespace trainctl::shim
