// What the services work with. Their callbacks run on gRPC's threads and touch only what says "any
// thread"; all else they post.
#pragma once

#include <memory>

#include "server/auth/sign_ins.h"
#include "server/auth/site_keys.h"
#include "server/coordinator/backup_thread.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/event_loop.h"
#include "server/coordinator/read_queue.h"
#include "server/meters/meters.h"
#include "server/rpc/answer_budget.h"
#include "server/rpc/gate.h"
#include "server/rpc/request_budget.h"
#include "server/rpc/stream_set.h"

namespace trainctl::rpc {

struct Backend {
  coordinator::EventLoop& loop;           // any thread
  coordinator::ReadQueue& reads;          // any thread
  coordinator::BackupThread& backups;     // any thread
  coordinator::Coordinator& coordinator;  // the loop's thread
  coordinator::EventLog& log;             // any thread
  Gate& gate;                             // any thread
  meters::Meters& meters;                 // any thread
  auth::SiteKeys* keys;                   // any thread; null: no TLS is served
  auth::SignIns* sign_ins;                // any thread; null: browsers don't sign in
  StreamSet client_streams;               // the loop's thread
  StreamSet worker_streams;               // the loop's thread
  RequestBudget requests{{}};             // any thread
  std::shared_ptr<AnswerBudget> answers;  // any thread; the loop looks at it while it is there
};

}  // namespace trainctl::rpc
