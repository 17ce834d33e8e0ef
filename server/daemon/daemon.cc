#include "server/daemon/daemon.h"

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "common/base/boot_id.h"
#include "common/base/file.h"
#include "common/base/version.h"
#include "server/auth/call_rate.h"
#include "server/auth/listen_address.h"
#include "server/auth/sign_ins.h"
#include "server/auth/site_keys.h"
#include "server/coordinator/backup_thread.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/event_loop.h"
#include "server/coordinator/log_files.h"
#include "server/coordinator/read_thread.h"
#include "server/core/policy_file.h"
#include "server/daemon/dashboard.h"
#include "server/daemon/metered_store.h"
#include "server/rpc/server.h"
#include "server/store/sqlite_store.h"

namespace trainctl::coordinator {
namespace {

// A worker that lost its stream comes back within.
constexpr int64_t kReturnMicros = 3'000'000;

std::string LogsOf(const std::string& directory) { return directory + "/logs"; }

// By the logs: jobs have run there.
store::Site SiteIn(const std::string& directory) {
  std::error_code error;
  const bool has_logs = !std::filesystem::is_empty(LogsOf(directory), error) && !error;
  return has_logs ? store::Site::kGoesOn : store::Site::kMayBeNew;
}

// A site whose database was lost would start anew: its next jobs would take the ids, logs and ranks
// of the old ones.
base::Status CheckNothingLost(const std::string& directory, store::Site site) {
  const std::string database = store::DatabasePath(directory), logs = LogsOf(directory);
  std::error_code missing;
  const bool has_database = std::filesystem::file_size(database, missing) > 0 && !missing;
  if (has_database || site == store::Site::kMayBeNew) return base::Ok{};
  return base::Error{base::Code::kConflict, database + " is missing or empty, though " + logs +
                                                " has logs of jobs: put the database back" +
                                                store::HowToRestore(directory) +
                                                "; to start a new site, move " + logs + " away"};
}

base::Status WriteAddress(const std::string& file, const std::string& address) {
  return file.empty() ? base::Ok{} : base::WriteFileAtomically(file, address + "\n");
}

// The one without TLS first.
base::Result<std::vector<auth::ListenAddress>> AddressesOf(const Options& options) {
  const auto listen = options.site_keys.empty() ? auth::ParseListenAddress(options.listen)
                                                : auth::ParseTlsAddress(options.listen);
  if (!listen) return listen.error();
  if (options.listen_local.empty()) return std::vector{*listen};
  const auto local = auth::ParseListenAddress(options.listen_local, "--listen-local");
  if (!local) return local.error();
  return std::vector{*local, *listen};
}

// The one without TLS first.
base::Result<std::vector<auth::ListenAddress>> DashboardsOf(const Options& options) {
  std::vector<auth::ListenAddress> addresses;
  if (!options.dashboard.empty()) {
    const auto local = auth::ParseListenAddress(options.dashboard, "--dashboard");
    if (!local) return local.error();
    addresses.push_back(*local);
  }
  if (!options.dashboard_tls.empty()) {
    const auto tls = auth::ParseTlsAddress(options.dashboard_tls, "--dashboard-tls");
    if (!tls) return tls.error();
    addresses.push_back(*tls);
  }
  return addresses;
}

base::Result<std::unique_ptr<auth::SiteKeys>> KeysOf(const Options& options,
                                                     const base::Clock& clock, EventLog& log) {
  if (options.site_keys.empty()) return std::unique_ptr<auth::SiteKeys>();
  auto keys = auth::SiteKeys::Open(options.site_keys, clock);
  if (keys && (*keys)->expires_at() <= clock.Wall())
    log.Warning("certificate_expired", {{"folder", options.site_keys}});
  return keys;
}

base::Result<core::SitePolicy> PolicyOf(const Options& options) {
  if (options.policy_file.empty()) return core::SitePolicy();
  const auto text = base::ReadRegularFile(options.policy_file, core::kMaxPolicyBytes);
  if (!text) return text.error();
  return core::ReadSitePolicy(*text, options.policy_file);
}

core::Options OptionsOf(const Options& options, core::SitePolicy policy) {
  return {.max_queued_jobs_of_user = options.bounds.queued_jobs,
          .policy = std::move(policy),
          .lent_until = options.lent_until,
          .boot_id = base::BootId()};
}

auth::CallRate::BoundOf RatesOf(core::SitePolicy policy) {
  return [policy = std::move(policy)](const std::string& user) {
    const core::UserPolicy granted = policy.Of(user);
    return auth::RateBound{granted.max_calls_per_second, granted.max_call_burst};
  };
}

}  // namespace

// In order of construction: what is used stands before its users.
struct Daemon::Parts {
  Parts(const Options& options, const base::Clock& clock_, EventLog& log_,
        std::unique_ptr<store::Store> store_, std::unique_ptr<store::Reader> loop_reader,
        std::unique_ptr<store::Reader> reader, core::SitePolicy policy)
      : log(log_),
        clock(clock_),
        meters(clock),
        rate(clock, RatesOf(policy)),
        store(std::make_unique<MeteredStore>(std::move(store_), meters)),
        own_reader(std::move(loop_reader)),
        logs(LogsOf(options.directory)),
        reads(loop, std::move(reader)),
        coordinator({loop, clock, *store, *own_reader, reads, logs, log,
                     OptionsOf(options, std::move(policy))}),
        backups(loop, options.directory) {}

  // From the outside in, so that whoever waits is answered.
  ~Parts() {
    log.Info("stopping");
    loop.Call([this] { coordinator.Finish(); });
    backups.GiveUp();
    if (server) server->Stop();
    if (dashboard) dashboard->Stop();
    reads.Stop();
    backups.Stop();
    loop.Stop();
  }

  void Name(const std::vector<auth::ListenAddress>& addresses) {
    address = auth::ToString(addresses.front());
    if (addresses.back().tls) tls_address = auth::ToString(addresses.back());
  }
  // Starts the dashboards, where there are to be any. As Daemon::Start.
  base::Status Serve(const Options& options, const std::string& version);

  EventLog& log;
  const base::Clock& clock;
  meters::Meters meters;
  auth::CallRate rate;
  std::unique_ptr<store::Store> store;
  std::unique_ptr<store::Reader> own_reader;
  LogFiles logs;
  EventLoop loop;
  ReadThread reads;
  Coordinator coordinator;
  BackupThread backups;
  std::unique_ptr<auth::SiteKeys> keys;     // null: no TLS
  std::unique_ptr<auth::SignIns> sign_ins;  // null: no dashboard with TLS
  std::unique_ptr<Dashboard> dashboard;     // null: none is served
  std::unique_ptr<rpc::Server> server;
  std::string address, tls_address;
};

base::Status Daemon::Parts::Serve(const Options& options, const std::string& version) {
  const auto addresses = DashboardsOf(options);
  if (!addresses) return addresses.error();
  if (addresses->empty()) return base::Ok{};
  auto reader = store::OpenSqliteReader(options.directory);
  if (!reader) return reader.error();
  if (!options.dashboard_tls.empty())
    sign_ins = std::make_unique<auth::SignIns>(clock, keys->tokens());
  auto started = Dashboard::Start(*addresses, std::move(*reader),
                                  {loop, coordinator, log, clock, meters, rate, version,
                                   options.policy, keys.get(), sign_ins.get()});
  if (!started) return started.error();
  dashboard = std::move(*started);
  const auto& [local, tls] = dashboard->addresses();
  if (!local.empty()) log.Info("dashboard", {{"address", local}});
  if (!tls.empty()) log.Info("dashboard_with_tls", {{"address", tls}});
  return WriteAddress(options.dashboard_file, local);
}

Daemon::Daemon(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

base::Result<std::unique_ptr<Daemon>> Daemon::Start(const Options& options,
                                                    const base::Clock& clock, EventLog& log) {
  auto addresses = AddressesOf(options);
  if (!addresses) return addresses.error();
  const store::Site site = SiteIn(options.directory);
  const base::Status nothing_lost = CheckNothingLost(options.directory, site);
  if (!nothing_lost) return nothing_lost.error();
  auto policy = PolicyOf(options);
  if (!policy) return policy.error();
  auto keys = KeysOf(options, clock, log);
  if (!keys) return keys.error();
  const auto place = options.lent_until ? store::Place::kAnywhere : store::Place::kLocal;
  auto store = store::OpenSqliteStore(options.directory, place, site);
  if (!store) return store.error();
  auto loop_reader = store::OpenSqliteReader(options.directory);
  if (!loop_reader) return loop_reader.error();
  auto reader = store::OpenSqliteReader(options.directory);
  if (!reader) return reader.error();

  auto parts =
      std::make_unique<Parts>(options, clock, log, std::move(*store), std::move(*loop_reader),
                              std::move(*reader), std::move(*policy));
  parts->keys = std::move(*keys);
  const base::Status loaded = parts->coordinator.Start();
  if (!loaded) return loaded.error();
  parts->loop.Start();
  const std::string version =
      std::string(base::Version()) + " (" + std::string(base::Commit()) + ")";
  const base::Status serves = parts->Serve(options, version);
  if (!serves) return serves.error();
  auto server = rpc::Server::Start(
      std::move(*addresses), {parts->loop, parts->reads, parts->backups, parts->coordinator, log,
                              version, parts->meters, parts->rate, options.policy, options.bounds,
                              parts->dashboard ? parts->dashboard->addresses() : rpc::Dashboards(),
                              parts->keys.get(), parts->sign_ins.get()});
  if (!server) return server.error();
  parts->server = std::move(*server);
  parts->Name(parts->server->addresses());
  std::unique_ptr<Daemon> daemon(new Daemon(std::move(parts)));
  const base::Status written = WriteAddress(options.address_file, daemon->address());
  if (!written) return written.error();
  log.Info(
      "listening",
      {{"address", daemon->address()}, {"directory", options.directory}, {"version", version}});
  if (!options.site_keys.empty())
    log.Info("listening_with_tls", {{"address", daemon->tls_address()}});
  return daemon;
}

Daemon::~Daemon() = default;

void Daemon::Every(std::chrono::milliseconds period, const std::function<void()>& work) {
  parts_->loop.Call([&] {
    work();
    parts_->loop.Every(period, work);
  });
}

void Daemon::EndLoan() {
  parts_->log.Info("loan_ends");
  parts_->loop.Call([this] { parts_->coordinator.EndLoan(); });
}

bool Daemon::HasRanksInReach() {
  bool has = false;
  parts_->loop.Call([&] {
    const base::SteadyMicros now = parts_->coordinator.Now().steady;
    has = std::ranges::any_of(parts_->coordinator.state().workers, [&](const auto& entry) {
      const core::Worker& worker = entry.second;
      return worker.holder && (worker.connected || now - worker.away_since < kReturnMicros);
    });
  });
  return has;
}

const std::string& Daemon::address() const { return parts_->address; }

const std::string& Daemon::tls_address() const { return parts_->tls_address; }

std::string Daemon::dashboard() const {
  return parts_->dashboard ? parts_->dashboard->addresses().local : "";
}

std::string Daemon::dashboard_tls() const {
  return parts_->dashboard ? parts_->dashboard->addresses().tls : "";
}

}  // namespace trainctl::coordinator
