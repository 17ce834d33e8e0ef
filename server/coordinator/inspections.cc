#include "server/coordinator/inspections.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace trainctl::coordinator {
namespace {

base::Error Nobody() {
  return {base::Code::kUnavailable,
          "no worker is connected, so nobody can look at the model and the data"};
}

// One host can't read it, and whether another can is not known.
base::Error HalfRefused(const base::Error& refusal, const base::Error& other) {
  return {base::Code::kUnavailable, refusal.message + "; another host: " + other.message};
}

std::string HostOf(const std::string& worker) { return worker.substr(0, worker.rfind('/')); }

void TakeOne(std::map<std::string, size_t>* counts, const std::string& name) {
  if (--(*counts)[name] == 0) counts->erase(name);
}

size_t Count(const std::map<std::string, size_t>& counts, const std::string& name) {
  const auto found = counts.find(name);
  return found == counts.end() ? 0 : found->second;
}

}  // namespace

void Inspections::Ask(Question question, base::SteadyMicros now, Answer answer) {
  if (workers_.all().empty()) return answer(Nobody());
  if (!question.worker.empty() && workers_.Find(question.worker) == nullptr) {
    return answer(
        base::Error{base::Code::kUnavailable, "worker '" + question.worker + "' is not connected"});
  }
  const auto of_user = static_cast<size_t>(std::ranges::count_if(
      waiting_, [&](const Waiting& other) { return other.question.user == question.user; }));
  if (of_user >= kMostWaitingOfUser || waiting_.size() >= kMostWaiting) {
    return answer(base::Error{
        base::Code::kExhausted,
        std::to_string(of_user) + " of your inspections wait already: try again when they ended"});
  }
  waiting_.push_back({std::move(question), std::move(answer), now + kDeadlineMicros, {}, {}});
  Pump(now);
}

bool Inspections::HasRoom(const std::string& worker) const {
  return Count(of_worker_, worker) < kMostOfWorker;
}

std::string Inspections::ChooseWorker(const Waiting& waiting) {
  if (Count(of_user_, waiting.question.user) >= kMostOfUser) return "";
  if (!waiting.question.worker.empty())
    return HasRoom(waiting.question.worker) ? waiting.question.worker : "";
  std::string chosen;
  const auto rank = [&](const std::string& worker) {
    return std::pair(!is_idle_(worker), Count(of_worker_, worker));
  };
  for (const auto& [worker, session] : workers_.all()) {
    if (!HasRoom(worker) || waiting.hosts.contains(HostOf(worker))) continue;
    if (chosen.empty() || rank(worker) < rank(chosen)) chosen = worker;
  }
  return chosen;
}

void Inspections::Pump(base::SteadyMicros now) {
  for (auto next = waiting_.begin(); next != waiting_.end();) {
    const std::string worker = ChooseWorker(*next);
    if (worker.empty()) {
      ++next;
      continue;
    }
    Waiting waiting = std::move(*next);
    next = waiting_.erase(next);
    Send(std::move(waiting), worker, now);
  }
}

void Inspections::Send(Waiting waiting, const std::string& worker, base::SteadyMicros now) {
  const std::string user = waiting.question.user;
  ++of_worker_[worker];
  ++of_user_[user];
  now_ = now;
  const auto shared = std::make_shared<Waiting>(std::move(waiting));
  const auto id = asked_.Add(worker, user, now,
                             [this, shared, worker, user](base::Result<job::Inspection> result) {
                               TakeOne(&of_worker_, worker);
                               TakeOne(&of_user_, user);
                               Answered(std::move(*shared), worker, std::move(result), now_);
                             });
  if (id) return workers_.Send(worker, AskInspect{*id, shared->question.job_json, user});
  TakeOne(&of_worker_, worker);
  TakeOne(&of_user_, user);
  shared->answer(id.error());
}

// What one host can't read, another may.
void Inspections::Answered(Waiting waiting, const std::string& worker,
                           base::Result<job::Inspection> result, base::SteadyMicros now) {
  const bool is_refused = !result && result.error().code == base::Code::kInvalid;
  if (!is_refused || !waiting.question.worker.empty()) {
    if (!result && waiting.refusal)
      return waiting.answer(HalfRefused(*waiting.refusal, result.error()));
    return waiting.answer(std::move(result));
  }
  waiting.hosts.insert(HostOf(worker));
  if (!waiting.refusal) waiting.refusal = result.error();
  const bool all_looked = std::ranges::all_of(workers_.all(), [&](const auto& entry) {
    return waiting.hosts.contains(HostOf(entry.first));
  });
  if (all_looked) return waiting.answer(*waiting.refusal);
  waiting.deadline = now + kDeadlineMicros;
  waiting_.push_front(std::move(waiting));
}

void Inspections::OnResult(const std::string& worker, const std::string& request_id,
                           base::Result<job::Inspection> inspection, base::SteadyMicros now) {
  now_ = now;
  asked_.Give(worker, request_id, std::move(inspection));
  Pump(now);
}

void Inspections::OnWorkerLeft(const std::string& worker, base::SteadyMicros now) {
  now_ = now;
  asked_.OnWorkerLeft(worker);
  OnTick(now);
}

void Inspections::OnTick(base::SteadyMicros now) {
  now_ = now;
  asked_.OnTick(now);
  std::vector<std::pair<Answer, base::Error>> given_up;
  std::erase_if(waiting_, [&](Waiting& waiting) {
    const std::string& wanted = waiting.question.worker;
    const bool nobody =
        workers_.all().empty() || (!wanted.empty() && workers_.Find(wanted) == nullptr);
    if (waiting.deadline > now && !nobody) return false;
    const base::Error late{base::Code::kUnavailable,
                           "other inspections took too long: try again when they ended"};
    const base::Error why = nobody ? Nobody() : late;
    const base::Error error = waiting.refusal ? HalfRefused(*waiting.refusal, why) : why;
    given_up.emplace_back(std::move(waiting.answer), error);
    return true;
  });
  for (const auto& [answer, error] : given_up) answer(error);
  Pump(now);
}

void Inspections::FailAll(const std::string& message) {
  for (const Waiting& waiting : std::exchange(waiting_, {}))
    waiting.answer(base::Error{base::Code::kUnavailable, message});
  asked_.FailAll(message);
}

}  // namespace trainctl::coordinator
