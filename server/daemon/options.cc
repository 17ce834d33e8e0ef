#include "server/daemon/options.h"

#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/version.h"
#include "common/peer/socket_owner.h"

namespace trainctl::coordinator {
namespace {

constexpr const char* kDescription =
    "Examples:\n"
    "  traincoordinator --dir /var/lib/trainctl                       serve on 127.0.0.1:7070\n"
    "  traincoordinator --dir ./site --listen 127.0.0.1:0 --address-file ./site/coordinator.addr\n"
    "                                                                 on a port that the kernel "
    "chooses, told in that file\n"
    "  traincoordinator init --help                                   keys, to be reached from "
    "other hosts with TLS\n"
    "  traincoordinator restore --help                                a site's folder of a backup\n"
    "  traincoordinator --dir ./site --site-keys ./keys --listen 0.0.0.0:7443\n"
    "  ssh -L 7070:127.0.0.1:7070 HOST                                reach it from a laptop\n"
    "  traincoordinator --dir ./site --dashboard 127.0.0.1:7080       with pages for a browser\n"
    "  traincoordinator --dir ./site --site-keys ./keys --listen 0.0.0.0:7443 --dashboard-tls "
    "0.0.0.0:7444\n"
    "\n"
    "The coordinator of a site: accepts jobs, places them on the workers' devices, keeps their "
    "states, metrics and\n"
    "logs in one folder, and answers trainctl. It can be stopped, killed and started again at any "
    "time: running jobs\n"
    "go on without it. Events go to stderr, one a line.";

constexpr const char* kInitDescription =
    "Example:\n"
    "  traincoordinator init --dir /var/lib/trainctl/keys --name gpu-host.example --name 10.0.0.7\n"
    "\n"
    "Makes what a site needs to be reached from other hosts with TLS: an authority of its own, the "
    "coordinator's\n"
    "certificate, and the token of an admin. All are files in DIR; DIR/ca.pem is what others get a "
    "copy of.";

constexpr const char* kCertifyDescription =
    "Example:\n"
    "  traincoordinator certify --dir /var/lib/trainctl/keys --name new-name.example\n"
    "\n"
    "Makes the coordinator's certificate anew, by the same authority: for other names, or before "
    "it "
    "ends. Workers, tokens\n"
    "and ca.pem stay as they are. A coordinator that runs takes it up when it is started again.";

constexpr const char* kRestoreDescription =
    "Example:\n"
    "  traincoordinator restore --from /var/backups/trainctl.db --dir "
    "/var/lib/trainctl/coordinator\n"
    "\n"
    "Makes a site's database of a backup (trainctl admin backup), in a folder that has none. Jobs "
    "that had not ended when\n"
    "the backup was written are ended: what had begun as NODE_LOST, what waited as CANCELLED, "
    "since it may have run. New\n"
    "jobs get numbers far beyond. Ranks that still run of others are stopped when their workers "
    "come back.";

// CLI11's exceptions end here.
bool ParseLine(CLI::App& app, int argc, const char* const* argv, int* exit_code) {
  try {
    app.parse(argc, argv);
    return true;
  } catch (const CLI::ParseError& error) {
    *exit_code = app.exit(error) == 0 ? 0 : 2;
    return false;
  }
}

void AddAddresses(CLI::App* app, Options* options) {
  app->add_option("--listen", options->listen,
                  "Address and port; port 0: the kernel chooses. Without --site-keys only on "
                  "loopback")
      ->type_name("HOST:PORT")
      ->capture_default_str();
  auto* keys = app->add_option("--site-keys", options->site_keys,
                               "Serve --listen with TLS, by the keys that traincoordinator init "
                               "has made there")
                   ->type_name("DIR");
  app->add_option("--listen-local", options->listen_local,
                  "Beside TLS: a loopback address and port without it, for users of this host")
      ->type_name("HOST:PORT")
      ->needs(keys);
  app->add_option("--address-file", options->address_file,
                  "Write HOST:PORT there once it listens: of --listen-local, where that is given")
      ->type_name("FILE");
}

std::string VersionText() {
  return "traincoordinator " + std::string(base::Version()) + " (commit " +
         std::string(base::Commit()) + ")";
}

// A name that is mistyped would leave its user with a role that was not meant.
base::Status CheckUser(const std::string& option, const std::string& name) {
  if (peer::IsUserName(name)) return base::Ok{};
  return base::Error{base::Code::kInvalid, option + ": this host has no user '" +
                                               name.substr(0, 256) +
                                               "' (id USER tells); a number is uid:1234"};
}

// For sites where one user's programs must not take what all share.
void AddBounds(CLI::App* app, Options* options) {
  const auto add = [app](const char* name, int64_t* bound, const char* text) {
    app->add_option(name, *bound, text)
        ->type_name("N")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
  };
  add("--user-connections", &options->bounds.connections,
      "Connections that a Unix user may have at once; workers' users have no such bound");
  add("--user-streams", &options->bounds.streams,
      "Streams that a user may have at once: who watches jobs, or follows logs");
  add("--user-jobs", &options->bounds.queued_jobs, "Jobs of a user that may wait at once");
}

base::Status ReadPolicy(const std::vector<std::string>& roles,
                        const std::vector<std::string>& workers, auth::UnixPolicy* policy) {
  for (const std::string& role : roles) {
    const base::Status added = auth::AddRole(role, policy);
    if (!added) return added;
    const std::string name = role.substr(0, role.find('='));
    const base::Status known = name == "*"
                                   ? base::Status(base::Ok{})
                                   : CheckUser("--role '" + role.substr(0, 256) + "'", name);
    if (!known) return known;
  }
  for (const std::string& name : workers) {
    const base::Status known = CheckUser("--worker-user '" + name.substr(0, 256) + "'", name);
    if (!known) return known;
    policy->workers.insert(name);
  }
  return base::Ok{};
}

}  // namespace

std::optional<InitOptions> ParseInitOptions(int argc, const char* const* argv, int* exit_code) {
  InitOptions options;
  const bool is_init = std::string_view(argv[1]) == "init";
  CLI::App app(is_init ? kInitDescription : kCertifyDescription,
               is_init ? "traincoordinator init" : "traincoordinator certify");
  app.add_option("--dir", options.directory,
                 is_init ? "Folder of the keys; made where it is missing" : "Folder of the keys")
      ->required()
      ->type_name("DIR");
  app.add_option("--name", options.hosts,
                 "A name or address that others reach this host by (default: its host name)")
      ->type_name("HOST")
      ->expected(1)
      ->take_all();
  if (!ParseLine(app, argc - 1, argv + 1, exit_code)) return std::nullopt;
  return options;
}

std::optional<RestoreOptions> ParseRestoreOptions(int argc, const char* const* argv,
                                                  int* exit_code) {
  RestoreOptions options;
  CLI::App app(kRestoreDescription, "traincoordinator restore");
  app.add_option("--from", options.file, "The backup")->required()->type_name("FILE");
  app.add_option("--dir", options.directory,
                 "Folder of the site, without a database; logs that are there stay")
      ->required()
      ->type_name("DIR");
  if (!ParseLine(app, argc - 1, argv + 1, exit_code)) return std::nullopt;
  return options;
}

std::optional<Options> ParseOptions(int argc, const char* const* argv, int* exit_code) {
  Options options;
  CLI::App app(kDescription, "traincoordinator");
  app.add_option("--dir", options.directory,
                 "Folder of the database and the logs; made where it is missing. On a local disk")
      ->required()
      ->type_name("DIR");
  AddAddresses(&app, &options);
  auto* dashboard =
      app.add_option(
             "--dashboard", options.dashboard,
             "Serve the dashboard and /metrics for Prometheus on this loopback address; port 0: "
             "the kernel chooses")
          ->type_name("HOST:PORT");
  app.add_option("--dashboard-tls", options.dashboard_tls,
                 "Serve both with TLS, by --site-keys, on any address: people sign in by trainctl "
                 "ui or a token, programs bring a token")
      ->type_name("HOST:PORT")
      ->needs("--site-keys");
  app.add_option("--dashboard-file", options.dashboard_file,
                 "Write --dashboard's HOST:PORT there once it listens; default: dashboard.addr "
                 "beside --address-file")
      ->type_name("FILE")
      ->needs(dashboard);
  std::vector<std::string> roles, workers;
  app.add_option(
         "--role", roles,
         "What a Unix user of this host may do: none, viewer, user, operator or admin. '*': "
         "whoever is not named, who otherwise is a user")
      ->type_name("USER=ROLE")
      ->expected(1)
      ->take_all();
  app.add_option("--worker-user", workers,
                 "A Unix user whose programs may be workers, besides root and the one that this "
                 "runs as")
      ->type_name("USER")
      ->expected(1)
      ->take_all();
  AddBounds(&app, &options);
  app.add_option("--policy", options.policy_file,
                 "A file with what this site grants its users: quotas, priorities, leases, fair "
                 "share. "
                 "Read once, at the start")
      ->type_name("FILE");
  int64_t lent_until = 0;
  app.add_option("--lent-until", lent_until,
                 "All devices are lent to this site until that Unix time, by a cluster's engine. "
                 "Before it, and at SIGTERM, jobs save and wait for the next loan")
      ->type_name("SECONDS")
      ->check(CLI::Range(int64_t{1}, int64_t{100'000'000'000}));
  app.set_version_flag("--version", VersionText(), "Print version and commit");
  if (!ParseLine(app, argc, argv, exit_code)) return std::nullopt;
  if (lent_until > 0) options.lent_until = lent_until * 1'000'000;
  if (options.dashboard_file.empty() && !options.dashboard.empty() && !options.address_file.empty())
    options.dashboard_file =
        std::filesystem::path(options.address_file).replace_filename("dashboard.addr");
  const base::Status policy = ReadPolicy(roles, workers, &options.policy);
  if (policy) return options;
  std::cerr << "traincoordinator: " << policy.error().message << std::endl;
  *exit_code = 2;
  return std::nullopt;
}

}  // namespace trainctl::coordinator
