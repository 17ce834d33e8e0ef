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
//   /api/sign-in, by POST          a browser's session begins          SignIn
//   /api/sign-out, by POST         it ends                             SignIn
//   /api/metrics                   names, labels and units of metrics  List
//   /metrics                       Prometheus' text                    Workers
//   /, /job, /lab, /queue,         the pages                           List
//     /compare, /assets/…
//   /sign-in and its assets        what signs in                       none
//
// Whoever is not known, over TLS, gets the page that signs in in place of a page.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>

#include "server/auth/call_rate.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/event_loop.h"
#include "server/coordinator/read_queue.h"
#include "server/meters/meters.h"
#include "server/web/curve_index.h"
#include "server/web/door.h"
#include "server/web/http.h"
#include "server/web/shared_document.h"

namespace trainctl::web {

class Api : public Handler {
 public:
  // What it asks; all outlive it and each answer.
  struct Parts {
    coordinator::EventLoop& loop;           // any thread
    coordinator::ReadQueue& reads;          // any thread
    coordinator::Coordinator& coordinator;  // the loop's thread
    const meters::Meters& meters;           // any thread
    const auth::CallRate& rate;             // any thread
    std::string version;
    Door* door = nullptr;  // any thread; needed by what is posted
  };
  explicit Api(Parts parts) : parts_(std::move(parts)) {}

  // A path that is answered.
  struct Route {
    std::string_view path;  // one that ends in '/' stands for all below it
    std::string_view rpc;   // whose permission it needs; empty: none
    void (Api::*handle)(const Request&, Answer);
    bool posted = false;

    bool Leads(const Request& request) const;
  };
  static std::span<const Route> Routes();

  void Handle(Request request, Answer answer) override;

 private:
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
  void SignIn(const Request& request, Answer answer);
  void SignOut(const Request& request, Answer answer);

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
