#include "server/coordinator/inspections.h"

#include <iterator>
#include <utility>
#include <vector>

namespace trainctl::coordinator {

void Inspections::Ask(WorkerSessions& workers, std::string job_json, base::SteadyMicros now, Answer answer) {
  if (workers.all().empty()) {
    return answer(base::Error{base::Code::kUnavailable, "no worker is connected, so nobody can look at the model and the data"});
  }
  if (waiting_.size() >= kMaxWaiting) {
    return answer(base::Error{base::Code::kExhausted, std::to_string(kMaxWaiting) + " inspections wait already: try again"});
  }
  // Any worker may look; taking turns keeps one slow worker from answering all.
  auto chosen = workers.all().begin();
  std::advance(chosen, next_ % workers.all().size());
  const std::string request_id = "i" + std::to_string(next_++);
  waiting_[request_id] = {chosen->first, now + kDeadlineMicros, std::move(answer)};
  workers.Send(chosen->first, AskInspect{request_id, std::move(job_json)});
}

void Inspections::OnResult(const std::string& request_id, std::string inspection_json, const std::string& error) {
  const auto found = waiting_.find(request_id);
  if (found == waiting_.end()) return;
  const Answer answer = std::move(found->second.answer);
  waiting_.erase(found);
  if (error.empty()) return answer(std::move(inspection_json));
  answer(base::Error{base::Code::kInvalid, error});
}

template <class Predicate>
void Inspections::FailWhere(Predicate predicate, const std::string& message) {
  std::vector<Answer> failed;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (!predicate(at->second)) {
      ++at;
      continue;
    }
    failed.push_back(std::move(at->second.answer));
    at = waiting_.erase(at);
  }
  for (const Answer& answer : failed) answer(base::Error{base::Code::kUnavailable, message});
}

void Inspections::OnWorkerLeft(const std::string& worker) {
  FailWhere([&](const Waiting& w) { return w.worker == worker; }, "worker '" + worker + "' went away while it looked: try again");
}

void Inspections::OnTick(base::SteadyMicros now) {
  FailWhere([&](const Waiting& w) { return w.deadline <= now; },
            "no worker answered within " + std::to_string(kDeadlineMicros / 1'000'000) + " s: try again");
}

void Inspections::FailAll(const std::string& message) {
  FailWhere([](const Waiting&) { return true; }, message);
}

}  // namespace trainctl::coordinator
