// The dashboard's parts: its own read thread, so that a long curve delays no call of gRPC's; what
// it answers; and its port.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "server/coordinator/read_thread.h"
#include "server/web/api.h"
#include "server/web/server.h"

namespace trainctl::coordinator {

class Dashboard {
 public:
  struct Parts {
    EventLoop& loop;
    Coordinator& coordinator;
    EventLog& log;
    const meters::Meters& meters;
    auth::CallRate& rate;
    std::string version;
    auth::UnixPolicy policy;
  };
  // Serves when it returns. As web::Server::Start.
  static base::Result<std::unique_ptr<Dashboard>> Start(const auth::ListenAddress& address,
                                                        std::unique_ptr<store::Reader> reader,
                                                        const Parts& parts) {
    std::unique_ptr<Dashboard> dashboard(new Dashboard(std::move(reader), parts));
    auto server = web::Server::Start(
        address,
        {.handler = dashboard->api_, .log = parts.log, .rate = parts.rate, .policy = parts.policy});
    if (!server) return server.error();
    dashboard->server_ = std::move(*server);
    return dashboard;
  }

  std::string address() const { return auth::ToString(server_->address()); }

  // While the loop still runs, and not on its thread: answers go there. What is answered later is
  // dropped.
  void Stop() {
    if (server_) server_->Stop();
    loop_.Call([] {});  // requests that wait there ask `reads_` before it stops
    reads_.Stop();
  }

 private:
  Dashboard(std::unique_ptr<store::Reader> reader, const Parts& parts)
      : loop_(parts.loop),
        reads_(parts.loop, std::move(reader)),
        api_({parts.loop, reads_, parts.coordinator, parts.meters, parts.rate, parts.version}) {}

  EventLoop& loop_;
  ReadThread reads_;
  web::Api api_;
  std::unique_ptr<web::Server> server_;
};

}  // namespace trainctl::coordinator
