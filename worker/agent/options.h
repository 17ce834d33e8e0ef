// The worker's command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/rank/rank_plan.h"

namespace trainctl::agent {

struct Options {
  enum class Task { kWork, kProbe, kHelp, kVersion };

  Task task = Task::kWork;
  std::string coordinator;  // host:port; or empty, and
  std::string coordinator_file;
  std::string directory;
  job::DeviceKind device = job::DeviceKind::kCpu;
  int64_t device_index = 0;
  int64_t threads = 0;       // 0: all cores; of a GPU, its share of them
  int64_t memory_bytes = 0;  // of a CPU slot; 0: all of the host's
  std::string name;          // empty: <host name>/<device index>
  std::string rank_program;  // empty: trainrank beside this program
  std::string shim_program;  // empty: trainshim beside this program
  std::string data_interface;
};

// kInvalid: what is wrong, and what was expected.
base::Result<Options> ParseOptions(const std::vector<std::string>& arguments);

std::string Help();

}  // namespace trainctl::agent
