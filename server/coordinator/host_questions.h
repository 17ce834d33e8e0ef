// Questions to workers about what ranks have saved on their hosts, on their way. The loop's thread
// only.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "server/coordinator/pending_answers.h"
#include "server/coordinator/worker_sessions.h"

namespace trainctl::coordinator {

// Command: a WorkerCommand of a request_id and a question, which has a `path`.
template <class Command, class Reply>
class HostQuestions {
 public:
  using Question = decltype(Command::question);
  // kUnavailable: none of the workers is connected, it went away, or it did not answer within the
  // deadline. kExhausted: too many wait, or too many of this user. What the worker itself can't do
  // has the code that the constructor was told, and the worker's words.
  using Answer = typename PendingAnswers<Reply>::Answer;

  HostQuestions(const PendingAnswers<Reply>& pending, base::Code failure)
      : pending_(pending), failure_(failure) {}

  // workers: of the host, the first that is connected is asked. user: who asks.
  void Ask(WorkerSessions& sessions, const std::vector<std::string>& workers,
           const std::string& user, Question question, base::SteadyMicros now, Answer answer) {
    const auto connected = std::ranges::find_if(
        workers, [&](const std::string& name) { return sessions.Find(name) != nullptr; });
    if (connected == workers.end()) {
      const std::string host =
          workers.empty() ? "" : workers.front().substr(0, workers.front().rfind('/'));
      return answer(base::Error{
          base::Code::kUnavailable,
          "no worker of host " + host + " is connected, so nobody can look at " + question.path});
    }
    const base::Result<std::string> id = pending_.Add(*connected, user, now, answer);
    if (!id) return answer(id.error());
    sessions.Send(*connected, Command{*id, std::move(question)});
  }

  // error empty: it succeeded. An unknown id, or one of another worker's: dropped.
  void OnResult(const std::string& worker, const std::string& request_id, Reply reply,
                const std::string& error) {
    if (error.empty()) return pending_.Give(worker, request_id, std::move(reply));
    pending_.Give(worker, request_id, base::Error{failure_, error});
  }
  void OnWorkerLeft(const std::string& worker) { pending_.OnWorkerLeft(worker); }
  void OnTick(base::SteadyMicros now) { pending_.OnTick(now); }
  void FailAll(const std::string& message) { pending_.FailAll(message); }

 private:
  PendingAnswers<Reply> pending_;
  const base::Code failure_;
};

}  // namespace trainctl::coordinator
