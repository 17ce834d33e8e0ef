// The dashboard's parts: its own read thread, so that a long curve delays no call of gRPC's; what
// it answers; and its ports.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/auth/sign_ins.h"
#include "server/auth/site_keys.h"
#include "server/coordinator/read_thread.h"
#include "server/rpc/dashboards.h"
#include "server/web/api.h"
#include "server/web/door.h"
#include "server/web/server.h"

namespace trainctl::coordinator {

class Dashboard {
 public:
  struct Parts {
    EventLoop& loop;
    Coordinator& coordinator;
    EventLog& log;
    const base::Clock& clock;
    const meters::Meters& meters;
    auth::CallRate& rate;
    std::string version;
    auth::UnixPolicy policy;
    auth::SiteKeys* keys = nullptr;  // both needed by an address with TLS
    auth::SignIns* sign_ins = nullptr;
  };
  // Serves when it returns; the loop runs. As web::Server::Start.
  static base::Result<std::unique_ptr<Dashboard>> Start(
      const std::vector<auth::ListenAddress>& addresses, std::unique_ptr<store::Reader> reader,
      const Parts& parts) {
    std::unique_ptr<Dashboard> dashboard(new Dashboard(std::move(reader), parts));
    for (const auth::ListenAddress& address : addresses) {
      auto server =
          web::Server::Start(address, {.handler = *dashboard->api_,
                                       .log = parts.log,
                                       .rate = parts.rate,
                                       .policy = parts.policy,
                                       .door = address.tls ? dashboard->door() : nullptr});
      if (!server) return server.error();
      (address.tls ? dashboard->addresses_.tls : dashboard->addresses_.local) =
          auth::ToString((*server)->address());
      dashboard->servers_.push_back(std::move(*server));
    }
    return dashboard;
  }

  const rpc::Dashboards& addresses() const { return addresses_; }

  // While the loop still runs, and not on its thread: answers go there. What is answered later is
  // dropped.
  void Stop() {
    for (const auto& server : servers_) server->Stop();
    loop_.Call([] {});  // requests that wait there ask `reads_` before it stops
    reads_.Stop();
  }

 private:
  Dashboard(std::unique_ptr<store::Reader> reader, const Parts& parts)
      : loop_(parts.loop), reads_(parts.loop, std::move(reader)) {
    if (parts.sign_ins != nullptr) {
      std::string site;
      loop_.Call([&] { site = parts.coordinator.state().site; });
      door_.emplace(web::Door::Parts{parts.clock, *parts.keys, *parts.sign_ins, loop_,
                                     parts.coordinator, std::move(site)});
    }
    api_.emplace(web::Api::Parts{loop_, reads_, parts.coordinator, parts.meters, parts.rate,
                                 parts.version, door()});
  }

  web::Door* door() { return door_ ? &*door_ : nullptr; }

  EventLoop& loop_;
  ReadThread reads_;
  std::optional<web::Door> door_;  // none: no TLS
  std::optional<web::Api> api_;
  rpc::Dashboards addresses_;
  std::vector<std::unique_ptr<web::Server>> servers_;
};

}  // namespace trainctl::coordinator
