// Those who wait for a worker's answer to a question: each gets one, if only that the worker went
// away or took too long. The loop's thread only.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "common/base/result.h"

namespace trainctl::coordinator {

template <class T>
class PendingAnswers {
 public:
  using Answer = std::function<void(base::Result<T>)>;

  // prefix: of request ids. what: is asked for, in the plural ("inspections"). most_of_user: of
  // those that wait.
  PendingAnswers(std::string prefix, std::string what, size_t most, size_t most_of_user,
                 int64_t deadline_micros)
      : prefix_(std::move(prefix)),
        what_(std::move(what)),
        most_(most),
        most_of_user_(most_of_user),
        deadline_micros_(deadline_micros) {}

  // The id of the question to send. user: who asks. kExhausted: too many wait, or too many of this
  // user.
  base::Result<std::string> Add(const std::string& worker, const std::string& user,
                                base::SteadyMicros now, Answer answer) {
    const auto of_user = static_cast<size_t>(std::ranges::count_if(
        waiting_, [&user](const auto& entry) { return entry.second.user == user; }));
    if (of_user >= most_of_user_) {
      return base::Error{base::Code::kExhausted,
                         user + " has " + std::to_string(of_user) + " " + what_ +
                             " that wait already, and may not have more: try again when some are "
                             "answered"};
    }
    if (waiting_.size() >= most_) {
      return base::Error{base::Code::kExhausted,
                         std::to_string(most_) + " " + what_ + " wait already: try again"};
    }
    const std::string id = prefix_ + std::to_string(next_++);
    waiting_[id] = {worker, user, now + deadline_micros_, std::move(answer)};
    return id;
  }

  // An unknown id: answered too late, dropped. So is what another worker says than the one that was
  // asked: ids are easily guessed.
  void Give(const std::string& worker, const std::string& id, base::Result<T> result) {
    const auto found = waiting_.find(id);
    if (found == waiting_.end() || found->second.worker != worker) return;
    const Answer answer = std::move(found->second.answer);
    waiting_.erase(found);
    answer(std::move(result));
  }

  void OnWorkerLeft(const std::string& worker) {
    FailWhere([&](const Waiting& w) { return w.worker == worker; },
              "worker '" + worker + "' went away while it looked: try again");
  }
  void OnTick(base::SteadyMicros now) {
    FailWhere([&](const Waiting& w) { return w.deadline <= now; },
              "no worker answered within " + std::to_string(deadline_micros_ / 1'000'000) +
                  " s: try again");
  }
  void FailAll(const std::string& message) {
    FailWhere([](const Waiting&) { return true; }, message);
  }

 private:
  struct Waiting {
    std::string worker;
    std::string user;
    base::SteadyMicros deadline = 0;
    Answer answer;
  };

  template <class Predicate>
  void FailWhere(Predicate predicate, const std::string& message) {
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

  const std::string prefix_, what_;
  const size_t most_, most_of_user_;
  const int64_t deadline_micros_;
  std::map<std::string, Waiting> waiting_;  // by id
  int64_t next_ = 1;
};

}  // namespace trainctl::coordinator
