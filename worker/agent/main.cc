// trainworker: see options.cc for its help.
#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <filesystem>
#include <iostream>
#include <random>

#include "common/base/file_fence.h"
#include "common/base/random_name.h"
#include "common/base/supervisor.h"
#include "common/base/unix_account.h"
#include "common/base/version.h"
#include "worker/agent/agent.h"
#include "worker/agent/inspect_job.h"
#include "worker/agent/join.h"
#include "worker/agent/options.h"
#include "worker/agent/patient_gpu_library.h"
#include "worker/agent/probe.h"
#include "worker/agent/renewal.h"

extern char** environ;

namespace trainctl::agent {
namespace {

// Empty: it is not there.
std::string ValueIn(const std::vector<std::string>& environment, const std::string& name) {
  for (const std::string& entry : environment) {
    if (entry.starts_with(name + "=")) return entry.substr(name.size() + 1);
  }
  return "";
}

std::vector<std::string> Environment() {
  std::vector<std::string> environment;
  for (char** entry = environ; *entry; ++entry) environment.emplace_back(*entry);
  return environment;
}

std::string HostName() {
  char name[256] = "localhost";
  ::gethostname(name, sizeof name - 1);
  return name;
}

base::Result<std::unique_ptr<Device>> MakeDevice(const Options& options) {
  const HostFacts facts = ReadHostFacts();
  if (options.device == job::DeviceKind::kCpu) {
    return MakeCpuSlot(ShareOfHost(options, HostName(), facts.cores, facts.memory_bytes));
  }
  base::Result<std::unique_ptr<GpuLibrary>> library = OpenPatiently(OpenNvml);
  if (!library) return library.error();
  const auto gpus = std::max<int64_t>(1, static_cast<int64_t>((*library)->Gpus().size()));
  const int64_t threads =
      options.threads > 0 ? options.threads : std::max<int64_t>(1, facts.cores / gpus);
  return MakeGpu(std::move(*library), options.device_index, threads, options.directory);
}

AgentOptions MakeAgentOptions(const Options& options) {
  const std::string beside = std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
  AgentOptions made;
  made.host = HostName();
  made.name =
      options.name.empty() ? made.host + "/" + std::to_string(options.device_index) : options.name;
  made.directory = std::filesystem::absolute(options.directory).lexically_normal().string();
  made.rank_program = options.rank_program.empty() ? beside + "/trainrank" : options.rank_program;
  made.shim_program = options.shim_program.empty() ? beside + "/trainshim" : options.shim_program;
  made.inspection_program = beside + "/trainworker";
  made.data_interface = options.data_interface;
  made.labels = options.labels;
  made.rules = options.rules;
  made.host_cpus = ReadHostCpus();
  made.environment = Environment();
  std::erase_if(made.environment, base::IsServiceVariable);
  made.incarnation = base::RandomName();
  made.uplink.coordinator = options.coordinator;
  made.uplink.coordinator_file = options.coordinator_file;
  made.uplink.coordinator_user = options.coordinator_user;
  made.uplink.keys = options.keys;
  made.uplink.seed = std::random_device()();
  return made;
}

int Fail(const std::string& message, int status) {
  std::cerr << "trainworker: " << message << std::endl;
  return status;
}

int JoinSite(const Options& options) {
  const base::Status joined = Join({.coordinator = options.coordinator,
                                    .authority_file = options.authority_file,
                                    .token_file = options.join_token_file,
                                    .keys = options.keys,
                                    .host = HostName()});
  if (!joined) return Fail(joined.error().message, 1);
  std::cout << "This host has joined: its workers connect with --keys " << options.keys
            << ", which they renew. The join token is used up." << std::endl;
  return 0;
}

// As the user of --user, where one is given.
int Inspect(const Options& options) {
  std::vector<std::string> environment = Environment();
  if (!options.user.empty()) {
    const auto account = base::FindAccount(options.user);
    const base::Status become = account ? base::Become(*account) : account.error();
    const bool is_jobs_fault = !account && account.error().code == base::Code::kDenied;
    if (!become) return Fail(become.error().message, is_jobs_fault ? 2 : 1);
    environment = base::EnvironmentOf(*account, std::move(environment));
  }
  const auto variable = [&](const char* name) { return ValueIn(environment, name); };
  return InspectJob(
      std::cin, {data::CacheFoldersOf(data::ReadCacheEnvironment(variable)), options.rules.roots},
      std::cout, std::cerr);
}

base::ServiceVariables ReadServiceVariables() {
  const std::vector<std::string> environment = Environment();
  return {.notify_socket = ValueIn(environment, "NOTIFY_SOCKET"),
          .watchdog_usec = ValueIn(environment, "WATCHDOG_USEC"),
          .watchdog_pid = ValueIn(environment, "WATCHDOG_PID")};
}

// From the loop, so that one that hangs is silent.
void KeepSayingAlive(const base::Supervisor& supervisor, boost::asio::steady_timer& timer) {
  if (!supervisor.alive_period()) return;
  supervisor.Alive();
  timer.expires_after(*supervisor.alive_period());
  timer.async_wait([&](boost::system::error_code error) {
    if (!error) KeepSayingAlive(supervisor, timer);
  });
}

int Work(const Options& options) {
  if (options.rules.run_as_owner) {
    const base::Status may = base::CheckMayBecomeOthers();
    if (!may) return Fail("--run-as owner: " + may.error().message, 1);
    ::umask(077);  // of ranks' folders others see what is handed over alone
  }
  const base::Result<std::unique_ptr<Device>> device = MakeDevice(options);
  if (!device) return Fail(device.error().message, 1);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGHUP, SIG_IGN);
  const base::SystemClock clock;
  boost::asio::io_context io;
  boost::asio::signal_set stop(io, SIGTERM, SIGINT);
  stop.async_wait([&](boost::system::error_code, int) { io.stop(); });
  const base::Supervisor supervisor(ReadServiceVariables());
  boost::asio::steady_timer alive(io);
  AgentOptions agent_options = MakeAgentOptions(options);
  agent_options.on_status = [&](const std::string& words) { supervisor.Status(words); };
  std::string refusal;
  agent_options.on_refused = [&](const std::string& why) {
    refusal = why;
    io.stop();
  };
  Renewal renewal(io, clock,
                  {.keys = options.keys, .read_address = [uplink = agent_options.uplink] {
                     return ReadAddress(uplink);
                   }});
  if (!options.keys.empty()) renewal.Start();
  if (agent_options.rules.bounds_files() && !base::HasFileFence())
    spdlog::warn("this kernel has no Landlock: links in the folders of jobs are not kept in");
  Agent agent(io, clock, std::move(agent_options), **device);
  if (const base::Status started = agent.Start(); !started) return Fail(started.error().message, 1);
  boost::asio::post(io, [&] {
    supervisor.Ready("dials the coordinator");
    KeepSayingAlive(supervisor, alive);
  });
  io.run();
  supervisor.Stopping(refusal.empty() ? "stopping; ranks go on" : refusal);
  if (!refusal.empty()) return Fail(refusal, 3);
  spdlog::info("stopping; ranks go on");
  return 0;
}

int Main(const std::vector<std::string>& arguments) {
  const base::Result<Options> options = ParseOptions(arguments);
  if (!options) return Fail(options.error().message + " (trainworker --help)", 2);
  switch (options->task) {
    case Options::Task::kHelp: std::cout << Help(); return 0;
    case Options::Task::kVersion:
      std::cout << "trainworker " << base::Version() << " (commit " << base::Commit() << ")\n";
      return 0;
    case Options::Task::kProbe:
      std::cout << Probe(ReadHostFacts(), OpenPatiently(OpenNvml));
      return 0;
    case Options::Task::kInspect: return Inspect(*options);
    case Options::Task::kJoin: return JoinSite(*options);
    case Options::Task::kWork: break;
  }
  return Work(*options);
}

}  // namespace
}  // namespace trainctl::agent

int main(int argc, char** argv) { return trainctl::agent::Main({argv + 1, argv + argc}); }
