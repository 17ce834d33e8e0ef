// What answers hold that clients have not read yet: bounded for all together and for each user, in
// bytes and in time. Where there is too much the user who holds most loses the oldest answer. So
// somebody who reads nothing keeps nobody from being answered. Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "common/base/clock.h"
#include "common/base/result.h"

namespace trainctl::rpc {

class AnswerBudget {
 public:
  // Of each answer, however small: what gRPC holds of its call.
  static constexpr int64_t kLeast = 16 << 10;
  static constexpr int64_t kBytesOfPatience = 512 << 10;  // a link may be slow

  struct Bounds {
    int64_t bytes = 256 << 20;
    int64_t bytes_of_user = 64 << 20;  // of more than one answer
    // For each begun kBytesOfPatience: whoever has not taken the answer by then does not read.
    int64_t patience_us = 60'000'000;
  };
  using Answer = uint64_t;
  // Ends its call with this error. Any thread, without a lock; also once the answer has left.
  using End = std::function<void(const base::Error&)>;

  explicit AnswerBudget(const Bounds& bounds) : bounds_(bounds) {}

  // An answer of so many bytes is handed to gRPC. May end others. kExhausted: it holds too much
  // itself, and has not entered.
  base::Result<Answer> Enter(const std::string& user, int64_t bytes, base::SteadyMicros now,
                             End end);
  // It was taken, or its call has ended. Idempotent.
  void Leave(Answer answer);
  // Ends those whose clients do not read.
  void EndStalled(base::SteadyMicros now);

  int64_t bytes() const;  // that are held now

 private:
  struct Entry {
    std::string user;
    int64_t bytes = 0;
    base::SteadyMicros until = 0;
    End end;
  };
  struct OfUser {
    int64_t bytes = 0;
    std::set<Answer> answers;  // never empty; in order of their coming
  };

  // The oldest of the user, or of the user who holds most.
  Answer OldestOf(const std::string& user) const { return *users_.at(user).answers.begin(); }
  Answer OldestOfWhoHoldsMost() const;
  Entry Remove(Answer answer);

  const Bounds bounds_;
  mutable std::mutex mutex_;
  Answer last_ = 0;
  int64_t bytes_ = 0;
  std::map<Answer, Entry> answers_;
  std::map<std::string, OfUser> users_;  // those with answers
};

}  // namespace trainctl::rpc
