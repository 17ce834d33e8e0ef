// trainrank: one rank of one attempt of one job. Started by trainshim; by hand for --version.
#include <sched.h>
#include <torch/headeronly/version.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/file.h"
#include "common/base/version.h"
#include "common/estimate/memory_estimate.h"
#include "common/job/job_json.h"
#include "common/rank/cpu_list.h"
#include "common/rank/rank_json.h"
#include "worker/rank/comm/nccl_version.h"
#include "worker/rank/data/cache_folders.h"
#include "worker/rank/data/job_fence.h"
#include "worker/rank/train/run_rank.h"

namespace {

using namespace trainctl;

constexpr int kFailure = 1;
constexpr int kUsage = 2;
constexpr int64_t kMaxPlanBytes = 4 << 20;

constexpr const char* kHelp =
    R"(trainrank: one rank of a training job. trainshim starts it; by hand:

  trainrank --plan plan.json          run a rank whose world size is 1, without a worker: messages go to stdout
  trainrank --version

options
  --plan FILE           what to run (common/rank/rank_plan.h)
  --messages-fd N       where messages to the worker go (default 1)
  --commands-fd N       where the worker's commands come from (default: none)
  --version, --help
)";

struct Arguments {
  std::string plan;
  int messages_fd = 1;
  int commands_fd = -1;
  bool version = false, help = false;
};

std::optional<Arguments> Parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    const bool has_value = i + 1 < argc;
    if (option == "--version") {
      arguments.version = true;
    } else if (option == "--help" || option == "-h") {
      arguments.help = true;
    } else if (option == "--plan" && has_value) {
      arguments.plan = argv[++i];
    } else if (option == "--messages-fd" && has_value) {
      arguments.messages_fd = std::atoi(argv[++i]);
    } else if (option == "--commands-fd" && has_value) {
      arguments.commands_fd = std::atoi(argv[++i]);
    } else {
      std::cerr << "trainrank: '" << option
                << "' is not an option, or lacks its value; see trainrank --help\n";
      return std::nullopt;
    }
  }
  return arguments;
}

int Fail(const base::Error& error) {
  std::cerr << error.message << '\n';
  return error.code == base::Code::kInvalid || error.code == base::Code::kNotFound ? kUsage
                                                                                   : kFailure;
}

std::string Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool IsSet(const char* name) { return std::atoi(Variable(name).c_str()) != 0; }

// What LibTorch and CUDA read from the environment at their first use; what is set already stands.
void PrepareEnvironment(const job::RankPlan& plan) {
  setenv("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", /*overwrite=*/0);
  if (plan.job.deterministic) setenv("CUBLAS_WORKSPACE_CONFIG", ":4096:8", 0);
  // The profiler would say as an error that a host without GPUs has none.
  if (plan.device == job::DeviceKind::kCpu) setenv("KINETO_LOG_LEVEL", "99", 0);
}

train::Commands* signalled = nullptr;

// A job that keeps checkpoints ends with one when it is stopped: at the end of its step, within the
// grace that it is given. Others have nothing to save, and end at once.
void StopAtTheNextStepOnSigterm(train::Commands& commands) {
  signalled = &commands;
  std::signal(SIGTERM, [](int) { signalled->RequestStop(); });
}

// Binds this thread, and all that it starts later, to the CPUs: "0-7,16" (common/rank/cpu_list.h).
// Memory that they touch first is then near to them. Empty: nothing is bound. A refusal of the
// operating system is ignored: the threads run wherever they may.
void BindToCpus(const std::string& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : job::ParseCpuList(cpus)) {
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  }
  if (CPU_COUNT(&set) > 0) sched_setaffinity(0, sizeof set, &set);
}

// Does not return where the plan could be read.
int RunPlan(const Arguments& arguments) {
  const base::Result<std::string> text = base::ReadFile(arguments.plan, kMaxPlanBytes);
  if (!text) return Fail(text.error());
  const base::Result<job::RankPlan> plan = job::RankPlanFromJson(*text);
  if (!plan) return Fail(plan.error());
  std::signal(SIGPIPE, SIG_IGN);
  const data::CacheFolders caches = data::CacheFoldersOf(data::ReadCacheEnvironment(Variable));
  const base::Status enclosed = data::EncloseJob(plan->roots, caches, plan->directory);
  if (!enclosed) return Fail(enclosed.error());
  BindToCpus(plan->cpus);  // before there is another thread
  PrepareEnvironment(*plan);
  const base::SystemClock clock;
  train::Commands commands(arguments.commands_fd);
  if (plan->job.checkpoint.every_steps) StopAtTheNextStepOnSigterm(commands);
  job::RankOutcome outcome;
  {
    // Its end writes all that is pending.
    train::Reporter reporter(arguments.messages_fd, clock, plan->rank, STDERR_FILENO);
    outcome = train::RunRank(*plan, commands, reporter, clock,
                             {.folders = caches, .reads_peers = !IsSet("NCCL_P2P_DISABLE")});
    reporter.Send(outcome);
  }
  if (!outcome.message.empty())
    std::cerr << "trainrank: " << job::Name(outcome.outcome) << ": " << outcome.message
              << std::endl;
  std::cout.flush();
  std::_Exit(outcome.outcome == job::Outcome::kSucceeded ||
                     outcome.outcome == job::Outcome::kCancelled
                 ? 0
                 : kFailure);
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Arguments> arguments = Parse(argc, argv);
  if (!arguments) return kUsage;
  if (arguments->help) {
    std::cout << kHelp;
    return 0;
  }
  if (arguments->version) {
    std::cout << "trainrank " << base::Version() << " (" << base::Commit() << "), LibTorch "
              << TORCH_VERSION << ", NCCL " << comm::NcclVersion() << '\n';
    return 0;
  }
  if (!arguments->plan.empty()) return RunPlan(*arguments);
  std::cerr << kHelp;
  return kUsage;
}
