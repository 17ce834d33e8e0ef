#include "worker/agent/options.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "common/base/parse_number.h"
#include "common/base/size.h"
#include "worker/agent/uplink.h"

namespace trainctl::agent {
namespace {

base::Error Invalid(const std::string& option, const std::string& value,
                    const std::string& expected) {
  return {base::Code::kInvalid, option + " " + value + ": expected " + expected};
}

base::Status SetDevice(const std::string& value, Options& options) {
  const size_t colon = value.find(':');
  const std::optional<job::DeviceKind> kind = job::ParseDeviceKind(value.substr(0, colon));
  const std::string number = colon == std::string::npos ? "" : value.substr(colon + 1);
  const std::optional<int64_t> index = base::ParseNumber(number);
  if (!kind || !index) return Invalid("--device", value, "cuda:N or cpu:N");
  options.device = *kind;
  options.device_index = *index;
  return base::Ok{};
}

base::Status SetThreads(const std::string& value, Options& options) {
  const std::optional<int64_t> threads = base::ParseNumber(value);
  if (!threads || *threads < 1) return Invalid("--threads", value, "a number from 1");
  options.threads = *threads;
  return base::Ok{};
}

base::Status SetSlots(const std::string& value, Options& options) {
  const std::optional<int64_t> slots = base::ParseNumber(value);
  if (!slots || *slots < 1) return Invalid("--slots", value, "a number from 1");
  options.slots = *slots;
  return base::Ok{};
}

base::Status SetMemory(const std::string& value, Options& options) {
  const std::optional<int64_t> bytes = base::ParseBytes(value);
  if (!bytes || *bytes <= 0) return Invalid("--memory", value, "a size, as 16GiB");
  options.memory_bytes = *bytes;
  return base::Ok{};
}

base::Status SetCoordinator(const std::string& value, Options& options) {
  const base::Result<HostPort> parts = ParseHostPort(value);
  if (!parts) return Invalid("--coordinator", value, "host:port");
  options.coordinator = value;
  return base::Ok{};
}

base::Status SetLabel(const std::string& value, Options& options) {
  auto label = job::ParseLabel(value);
  if (!label) return base::Error{base::Code::kInvalid, "--label " + label.error().message};
  if (!options.labels.insert(*label).second)
    return Invalid("--label", value, "no second value of " + label->first);
  if (options.labels.size() > job::kMaxLabels)
    return Invalid("--label", value, "at most " + std::to_string(job::kMaxLabels) + " of them");
  return base::Ok{};
}

base::Status AddRoot(const std::string& option, const std::string& value,
                     std::vector<std::string>& roots) {
  if (!value.starts_with('/')) return Invalid(option, value, "an absolute path");
  roots.push_back(value);
  return base::Ok{};
}

base::Status AddOwner(const std::string& value, job::HostRules& rules) {
  if (value.empty()) return Invalid("--allow-user", value, "the name of a user");
  rules.owners.push_back(value);
  return base::Ok{};
}

base::Status SetRunAs(const std::string& value, job::HostRules& rules) {
  if (value != "owner" && value != "worker") return Invalid("--run-as", value, "owner or worker");
  rules.run_as_owner = value == "owner";
  return base::Ok{};
}

base::Status SetOption(const std::string& name, const std::string& value, Options& options) {
  if (name == "--coordinator") return SetCoordinator(value, options);
  if (name == "--device") return SetDevice(value, options);
  if (name == "--threads") return SetThreads(value, options);
  if (name == "--slots") return SetSlots(value, options);
  if (name == "--memory") return SetMemory(value, options);
  if (name == "--label") return SetLabel(value, options);
  if (name == "--read-root") return AddRoot(name, value, options.rules.roots.read);
  if (name == "--write-root") return AddRoot(name, value, options.rules.roots.write);
  if (name == "--allow-user") return AddOwner(value, options.rules);
  if (name == "--run-as") return SetRunAs(value, options.rules);
  const std::pair<std::string_view, std::string*> texts[] = {
      {"--coordinator-file", &options.coordinator_file},
      {"--coordinator-user", &options.coordinator_user},
      {"--keys", &options.keys},
      {"--ca", &options.authority_file},
      {"--join-token-file", &options.join_token_file},
      {"--dir", &options.directory},
      {"--name", &options.name},
      {"--user", &options.user},
      {"--rank-program", &options.rank_program},
      {"--shim-program", &options.shim_program},
      {"--data-interface", &options.data_interface}};
  for (const auto& [known, text] : texts) {
    if (name != known) continue;
    *text = value;
    return base::Ok{};
  }
  return base::Error{base::Code::kInvalid, "unknown option " + name};
}

base::Status CheckJoin(const Options& options) {
  const bool whole = !options.coordinator.empty() && !options.authority_file.empty() &&
                     !options.join_token_file.empty() && !options.keys.empty();
  if (whole) return base::Ok{};
  return base::Error{base::Code::kInvalid,
                     "join: --coordinator HOST:PORT, --ca FILE, --join-token-file FILE and --keys "
                     "DIR are needed"};
}

base::Status CheckWhole(const Options& options) {
  if (options.task == Options::Task::kInspect) return base::Ok{};
  if (!options.user.empty())
    return base::Error{base::Code::kInvalid, "--user is of --inspect; a worker has --run-as"};
  if (options.task == Options::Task::kJoin) return CheckJoin(options);
  if (!options.authority_file.empty() || !options.join_token_file.empty()) {
    return base::Error{base::Code::kInvalid,
                       "--ca and --join-token-file are of trainworker join; a worker has --keys"};
  }
  if (options.coordinator.empty() == options.coordinator_file.empty()) {
    return base::Error{base::Code::kInvalid,
                       "one of --coordinator HOST:PORT and --coordinator-file FILE is needed"};
  }
  if (options.directory.empty()) return base::Error{base::Code::kInvalid, "--dir DIR is needed"};
  const base::FileRoots& roots = options.rules.roots;
  if (!roots.read.empty() && roots.write.empty()) {
    return base::Error{
        base::Code::kInvalid,
        "--read-root: --write-root DIR is needed too, for jobs read what they write"};
  }
  return base::Ok{};
}

}  // namespace

base::Result<Options> ParseOptions(const std::vector<std::string>& arguments) {
  Options options;
  const bool joins = !arguments.empty() && arguments.front() == "join";
  if (joins) options.task = Options::Task::kJoin;
  for (size_t at = joins ? 1 : 0; at < arguments.size(); ++at) {
    std::string name = arguments[at];
    if (name == "--help" || name == "-h") return Options{.task = Options::Task::kHelp};
    if (name == "--version") return Options{.task = Options::Task::kVersion};
    if (name == "--probe") return Options{.task = Options::Task::kProbe};
    if (name == "--inspect") {
      options.task = Options::Task::kInspect;
      continue;
    }
    const size_t equals = name.find('=');
    const bool has_value = equals != std::string::npos || at + 1 < arguments.size();
    if (!name.starts_with("--") || !has_value)
      return base::Error{base::Code::kInvalid, name + ": unknown, or its value is missing"};
    const std::string value =
        equals != std::string::npos ? name.substr(equals + 1) : arguments[++at];
    if (const base::Status set = SetOption(name.substr(0, equals), value, options); !set)
      return set.error();
  }
  if (const base::Status whole = CheckWhole(options); !whole) return whole.error();
  return options;
}

CpuSlotOptions ShareOfHost(const Options& options, const std::string& host, int64_t cores,
                           int64_t memory_bytes) {
  const int64_t share = std::max<int64_t>(1, cores / options.slots);
  return {.host = host,
          .index = options.device_index,
          .threads = options.threads > 0 ? options.threads : share,
          .memory_bytes =
              options.memory_bytes > 0 ? options.memory_bytes : memory_bytes / options.slots};
}

std::string Help() {
  return R"(trainworker offers one device of this host to a coordinator, and runs ranks on it.

  trainworker --coordinator 127.0.0.1:7070 --dir /var/lib/trainctl/worker-0 --device cuda:0
  trainworker --coordinator-file run/coordinator.addr --dir run/worker-1 --device cpu:1 --slots 2
  trainworker join --coordinator gpu-host:7443 --ca ca.pem --join-token-file token --keys keys
  trainworker --coordinator gpu-host:7443 --keys keys --dir run/worker-0 --device cuda:0
  trainworker --probe            what this host has, and whether it is fit, as JSON (trainctl doctor shows it)
  trainworker --inspect < JOB    what model and data hold, as JSON; exit 2: the job is at fault

Usage: trainworker (--coordinator HOST:PORT | --coordinator-file FILE) --dir DIR [options]
       trainworker join --coordinator HOST:PORT --ca FILE --join-token-file FILE --keys DIR

Ranks outlive their worker: a SIGTERM ends the worker only, and one that is started again on the same DIR takes its ranks up again.

Options
  --coordinator HOST:PORT   the coordinator to dial
  --coordinator-file FILE   a file that holds its address, read again at each try
  --coordinator-user USER   trust this user's coordinator, besides one of root, trainctl or oneself
  --keys DIR                by TLS, as this host, which trainworker join has made known there
  --ca FILE                 of join: ca.pem of the site
  --join-token-file FILE    of join: with the token of trainctl admin worker-token
  --dir DIR                 the worker's own folder, kept across restarts; one worker at a time
  --device cuda:N|cpu:N     a GPU by its NVML index, or a CPU slot (cpu:0)
  --slots N                 of CPU slots: so many share this host's cores and memory (1)
  --threads N               of a CPU slot (cores / slots), or for a GPU's CPU optimizer (cores / GPUs)
  --memory SIZE             of a CPU slot (the host's / slots)
  --label KEY=VALUE         for constraints of jobs, such as rack=r1; may be given again
  --name NAME               stable across restarts (HOST/N)
  --read-root DIR           jobs read below it only, links followed; may be given again
  --write-root DIR          jobs write below it only, and may read there; may be given again
  --allow-user USER         whose jobs run here (everyone's); may be given again
  --run-as owner|worker     ranks are processes of their job's owner, which takes root (worker)
  --data-interface ADDRESS  by which other ranks reach this host (that towards the coordinator);
                            NCCL is told the interface that has it, as NCCL_SOCKET_IFNAME, unless
                            that is set
  --rank-program PATH       trainrank (beside this program)
  --shim-program PATH       trainshim (beside this program)
  --probe, --inspect, --help, --version

In a root {user} stands for the job's owner, as in --read-root /data --write-root /scratch/{user}.

Exit status: 0 after SIGTERM or SIGINT, 1 when the device or DIR can't be used, 2 for a wrong command line, 3 when another worker has its name.
)";
}

}  // namespace trainctl::agent
