// The worker's command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/job/host_rules.h"
#include "common/rank/rank_plan.h"
#include "worker/agent/device.h"

namespace trainctl::agent {

struct Options {
  enum class Task { kWork, kJoin, kProbe, kInspect, kHelp, kVersion };

  Task task = Task::kWork;
  std::string coordinator;  // host:port; or empty, and
  std::string coordinator_file;
  std::string coordinator_user;  // who may be the coordinator besides root and our own user
  std::string keys;              // a folder (host_keys.h); empty: no TLS
  std::string authority_file;    // of join, as the next
  std::string join_token_file;
  std::string directory;
  job::DeviceKind device = job::DeviceKind::kCpu;
  int64_t device_index = 0;
  int64_t slots = 1;         // of CPU slots: so many share this host's cores and memory
  int64_t threads = 0;       // 0: its share of the cores
  int64_t memory_bytes = 0;  // of a CPU slot; 0: its share of the host's
  std::string name;          // empty: <host name>/<device index>
  std::string rank_program;  // empty: trainrank beside this program
  std::string shim_program;  // empty: trainshim beside this program
  std::string data_interface;
  std::string user;    // of --inspect: as whom it looks; empty: as itself
  job::Labels labels;  // for constraints of jobs
  job::HostRules rules;
};

// kInvalid: what is wrong, and what was expected.
base::Result<Options> ParseOptions(const std::vector<std::string>& arguments);

// The CPU slot that the options ask for, of a host with so many cores and so much memory: what they
// do not say is its share.
CpuSlotOptions ShareOfHost(const Options& options, const std::string& host, int64_t cores,
                           int64_t memory_bytes);

std::string Help();

}  // namespace trainctl::agent
