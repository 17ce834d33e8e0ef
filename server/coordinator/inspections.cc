#include "server/coordinator/inspections.h"

#include <iterator>
#include <utility>

namespace trainctl::coordinator {

void Inspections::Ask(WorkerSessions& workers, std::string job_json, base::SteadyMicros now,
                      Answer answer) {
  if (workers.all().empty()) {
    return answer(
        base::Error{base::Code::kUnavailable,
                    "no worker is connected, so nobody can look at the model and the data"});
  }
  // Any worker may look; taking turns keeps one slow worker from answering all.
  auto chosen = workers.all().begin();
  std::advance(chosen, ++turns_ % workers.all().size());
  AskWorker(workers, chosen->first, std::move(job_json), now, std::move(answer));
}

void Inspections::AskWorker(WorkerSessions& workers, const std::string& worker,
                            std::string job_json, base::SteadyMicros now, Answer answer) {
  if (workers.Find(worker) == nullptr)
    return answer(
        base::Error{base::Code::kUnavailable, "worker '" + worker + "' is not connected"});
  const base::Result<std::string> id = pending_.Add(worker, now, answer);
  if (!id) return answer(id.error());
  workers.Send(worker, AskInspect{*id, std::move(job_json)});
}

}  // namespace trainctl::coordinator
