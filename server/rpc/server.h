// The ports: both services, health checking (grpc.health.v1) and reflection, over addresses of
// loopback without TLS and over any with it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "server/auth/call_rate.h"
#include "server/auth/listen_address.h"
#include "server/auth/sign_ins.h"
#include "server/auth/site_keys.h"
#include "server/auth/unix_policy.h"
#include "server/auth/user_bounds.h"
#include "server/coordinator/backup_thread.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/event_loop.h"
#include "server/coordinator/read_queue.h"
#include "server/meters/meters.h"
#include "server/rpc/answer_budget.h"
#include "server/rpc/dashboards.h"
#include "server/rpc/request_budget.h"

namespace trainctl::rpc {

class Server {
 public:
  static constexpr int kMaxMessageBytes = RequestBudget::kLargest;

  // What it serves; all outlive it.
  struct Parts {
    coordinator::EventLoop& loop;
    coordinator::ReadQueue& reads;
    coordinator::BackupThread& backups;
    coordinator::Coordinator& coordinator;
    coordinator::EventLog& log;
    std::string version;
    meters::Meters& meters;
    auth::CallRate& rate;
    auth::UnixPolicy policy = {};
    auth::UserBounds bounds = {};
    Dashboards dashboards = {};
    auth::SiteKeys* keys = nullptr;     // needed by addresses with TLS
    auth::SignIns* sign_ins = nullptr;  // needed by a dashboard with TLS
    std::shared_ptr<AnswerBudget> answers = std::make_shared<AnswerBudget>(AnswerBudget::Bounds());
  };

  // At least one address. Listens when it returns, the loop may start later. kConflict: a port is
  // taken by another process. kExhausted, kIo.
  static base::Result<std::unique_ptr<Server>> Start(std::vector<auth::ListenAddress> addresses,
                                                     const Parts& parts);
  ~Server();  // stops

  // With the ports that the kernel chose.
  const std::vector<auth::ListenAddress>& addresses() const { return addresses_; }

  // Ends the open streams with UNAVAILABLE, lets calls finish for a moment, and waits until the
  // last has. The loop must be running; not on its thread. Idempotent.
  void Stop();

 private:
  struct Services;
  Server();
  void Accept();

  std::vector<auth::ListenAddress> addresses_;
  coordinator::EventLoop* loop_ = nullptr;
  std::unique_ptr<Services> services_;
};

}  // namespace trainctl::rpc
