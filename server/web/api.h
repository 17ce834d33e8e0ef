// What the pages and Prometheus ask: each path is one question, made by the RPC whose permission it
// needs. Answers are the records of `trainctl -o json` (common/record), by the same reads as
// gRPC's.
//
//   /api/site                      the newest jobs, those that run,    List
//     ?limit=N                     the queue's first; workers
//   /api/group?group=G             records of a group's jobs           List
//   /api/queue                     the first that wait, in the         Leases
//                                  queue's order; leases
//   /api/view?job=J                a job's record, its workers         List
//   /api/job?job=J                 all about it, with memory           Get
//   /api/series?job=J&name=M       a metric's curves, downsampled      Metrics
//     &points=N&from=S&to=S
//   /api/log?job=J&rank=R          a piece of a rank's log; without    Logs
//     &attempt=A&offset=O          offset: the end of what there is
//   /api/compare?job=J&job=J       the table of `trainctl compare`     Compare
//     &base=J
//   /api/advice?job=J              other ways to run it                EarlierRuns
//   /api/metrics                   names, labels and units of metrics  List
//   /metrics                       Prometheus' text                    Workers
//   /, /job, /lab, /queue,         the pages                           List
//     /compare, /assets/…
#pragma once

#include <map>
#include <string>

#include "server/auth/call_rate.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/event_loop.h"
#include "server/coordinator/read_thread.h"
#include "server/meters/meters.h"
#include "server/web/curve_index.h"
#include "server/web/http.h"
#include "server/web/shared_document.h"

namespace trainctl::web {

class Api : public Handler {
 public:
  // What it asks; all outlive it and each answer.
  struct Parts {
    coordinator::EventLoop& loop;           // any thread
    coordinator::ReadThread& reads;         // any thread
    coordinator::Coordinator& coordinator;  // the loop's thread
    const meters::Meters& meters;           // any thread
    const auth::CallRate& rate;             // any thread
    std::string version;
  };
  explicit Api(Parts parts) : parts_(std::move(parts)) {}

  void Handle(Request request, Answer answer) override;

 private:
  struct Route;

  void Site(const Request& request, Answer answer);
  void Group(const Request& request, Answer answer);
  void Queue(const Request& request, Answer answer);
  void View(const Request& request, Answer answer);
  void Job(const Request& request, Answer answer);
  void Series(const Request& request, Answer answer);
  void Log(const Request& request, Answer answer);
  void Advice(const Request& request, Answer answer);
  void Compare(const Request& request, Answer answer);
  void Metrics(const Request& request, Answer answer);
  void MetricList(const Request& request, Answer answer);
  void Page(const Request& request, Answer answer);

  // Reads on the read thread; what is found becomes a document on the loop.
  template <class Found, class Read, class Encode>
  void Ask(const Answer& answer, Read read, Encode encode);
  // A document of the first jobs of the queue, and how many there are; `complete` adds to it. Live
  // pages share it.
  template <class Read, class Complete>
  void AskOfQueue(const Request& request, Read read, Complete complete, SharedDocument::Take take);

  const Parts parts_;
  CurveIndex index_;                             // of the read thread
  std::map<std::string, SharedDocument> shown_;  // of the loop; by path and limit
};

}  // namespace trainctl::web
