#include "server/core/held.h"

#include <set>
#include <string>

#include "common/job/held_devices.h"

namespace trainctl::core {
namespace {

int64_t DevicesOn(const State& state, const std::string& host) {
  return static_cast<int64_t>(state.hosts.at(host).size());
}

}  // namespace

int64_t LeastHeld(const State& state, const std::string& user, const job::JobSpec& spec) {
  if (!spec.exclusive) return spec.devices;
  return job::LeastHeldDevices(spec, SiteOf(state, user, spec), Site(state));
}

int64_t LeastHeld(const State& state, const Job& job) {
  if (!job.row.spec.exclusive) return job.row.spec.devices;
  LeastOfHosts& least = job.least_held;
  if (least.version != state.free.version())
    least = {state.free.version(), LeastHeld(state, job.row.user, job.row.spec)};
  return least.devices;
}

int64_t HeldWith(const State& state, const Job& job,
                 const std::vector<placement::DeviceId>& devices) {
  if (!job.row.spec.exclusive) return job.row.spec.devices;
  std::set<std::string> hosts;
  for (const placement::DeviceId device : devices) hosts.insert(state.free.entry(device).host);
  int64_t held = 0;
  for (const std::string& host : hosts) held += DevicesOn(state, host);
  return held;
}

void CountHeld(const State& state, const Job& job, std::vector<Rank>* ranks) {
  if (job.row.spec.resources.lease) {
    for (Rank& rank : *ranks) rank.row.held_devices = 0;
    return;
  }
  if (!job.row.spec.exclusive) return;
  std::map<std::string, std::vector<Rank*>> by_host;
  for (Rank& rank : *ranks) by_host[rank.row.host].push_back(&rank);
  for (const auto& [host, of_host] : by_host)
    of_host.front()->row.held_devices += DevicesOn(state, host) - std::ssize(of_host);
}

int64_t HeldByAll(const std::vector<Rank>& ranks) {
  int64_t held = 0;
  for (const Rank& rank : ranks) held += rank.row.held_devices;
  return held;
}

}  // namespace trainctl::core
