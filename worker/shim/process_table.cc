#include "worker/shim/process_table.h"

#include <dirent.h>
#include <signal.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>

#include "common/base/descriptor.h"
#include "common/base/file.h"

namespace trainctl::shim {

std::optional<ProcessStat> ParseStat(std::string_view text) {
  const size_t name_end = text.rfind(')');  // the name may hold anything, parentheses too
  if (name_end == std::string_view::npos) return std::nullopt;
  ProcessStat stat;
  const size_t name_start = text.find('(') + 1;
  stat.name = text.substr(name_start, name_end - name_start);
  stat.pid = std::atoi(std::string(text.substr(0, text.find(' '))).c_str());
  unsigned long long user = 0, system = 0, start = 0;
  long long resident = 0;
  const std::string rest(text.substr(name_end + 1));
  const int read = std::sscanf(
      rest.c_str(),
      " %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %llu %*u %lld",
      &stat.state, &stat.parent, &stat.group, &stat.session, &user, &system, &start, &resident);
  if (read != 8) return std::nullopt;
  stat.cpu_ticks = user + system;
  stat.start_time = start;
  stat.resident_pages = resident;
  return stat;
}

std::optional<ProcessStat> ReadStat(pid_t pid) {
  const base::Result<std::string> text =
      base::ReadFile("/proc/" + std::to_string(pid) + "/stat", 8192);
  return text ? ParseStat(*text) : std::nullopt;
}

std::vector<std::string> ArgumentsOf(pid_t pid) {
  const base::Result<std::string> text =
      base::ReadFile("/proc/" + std::to_string(pid) + "/cmdline", 1 << 20);
  std::vector<std::string> arguments;
  for (size_t at = 0; text && at < text->size();) {
    const size_t end = std::min(text->find('\0', at), text->size());
    arguments.push_back(text->substr(at, end - at));
    at = end + 1;
  }
  return arguments;
}

std::vector<ProcessStat> ListProcesses() {
  std::vector<ProcessStat> processes;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir("/proc"), ::closedir);
  if (!directory) return processes;
  while (const dirent* entry = ::readdir(directory.get())) {
    const pid_t pid = std::atoi(entry->d_name);
    if (pid <= 0) continue;
    if (const std::optional<ProcessStat> stat = ReadStat(pid)) processes.push_back(*stat);
  }
  return processes;
}

std::vector<ProcessStat> Descendants(pid_t ancestor) {
  std::multimap<pid_t, ProcessStat> children;
  for (const ProcessStat& process : ListProcesses()) children.emplace(process.parent, process);
  std::vector<ProcessStat> found;
  const auto add_children = [&](pid_t parent) {
    const auto [begin, end] = children.equal_range(parent);
    for (auto child = begin; child != end; ++child) {
      if (!child->second.ended()) found.push_back(child->second);
    }
  };
  add_children(ancestor);
  for (size_t i = 0; i < found.size() && found.size() <= children.size(); ++i)
    add_children(found[i].pid);
  return found;
}

bool Signal(const ProcessStat& process, int signal) {
  const base::Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, process.pid, 0)));
  if (!handle.open()) return false;
  const std::optional<ProcessStat> now =
      ReadStat(process.pid);  // after the handle: it can't become another one any more
  if (!now || now->start_time != process.start_time || now->ended()) return false;
  return ::syscall(SYS_pidfd_send_signal, handle.get(), signal, nullptr, 0) == 0;
}

}  // namespace trainctl::shim
