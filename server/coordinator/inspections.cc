#include "server/coordinator/inspections.h"

#include <iterator>
#include <utility>

namespace trainctl::coordinator {

void Inspections::Ask(WorkerSessions& workers, std::string job_json, base::SteadyMicros now, Answer answer) {
  if (workers.all().empty()) {
    return answer(base::Error{base::Code::kUnavailable, "no worker is connected, so nobody can look at the model and the data"});
  }
  // Any worker may look; taking turns keeps one slow worker from answering all.
  auto chosen = workers.all().begin();
  std::advance(chosen, ++turns_ % workers.all().size());
  const base::Result<std::string> id = pending_.Add(chosen->first, now, answer);
  if (!id) return answer(id.error());
  workers.Send(chosen->first, AskInspect{*id, std::move(job_json)});
}

void Inspections::OnResult(const std::string& request_id, std::string inspection_json, const std::string& error) {
  if (error.empty()) return pending_.Give(request_id, std::move(inspection_json));
  pending_.Give(request_id, base::Error{base::Code::kInvalid, error});
}

}  // namespace trainctl::coordinator
