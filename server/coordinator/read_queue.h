// Questions to the store that may take a while, on a loop of their own. So no listing or comparison
// delays a submission or a worker. Answers come back on the coordinator's loop.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/base/result.h"
#include "server/coordinator/loop.h"
#include "server/coordinator/waiting_questions.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

class ReadQueue {
 public:
  static constexpr size_t kMaxWaiting = 1024;
  static constexpr size_t kMaxWaitingOfUser = kMaxWaiting / 4;

  // `reads`: where the reader is used; it runs nothing any more when this ends.
  ReadQueue(Loop& loop, Loop& reads, std::unique_ptr<store::Reader> reader)
      : loop_(loop), reads_(reads), reader_(std::move(reader)) {}

  // Any thread. `read` runs where the reader is used, `answer` then on the loop; kExhausted where
  // too many questions wait, or too many of this user. Users share nothing but the whole bound; "":
  // no user.
  template <class T>
  void Ask(const std::string& user, std::function<base::Result<T>(store::Reader&)> read,
           std::function<void(base::Result<T>)> answer) {
    if (const base::Status enters = waiting_.Enter(user); !enters) {
      return loop_.Post([answer = std::move(answer), busy = enters.error()] { answer(busy); });
    }
    reads_.Post([this, user, read = std::move(read), answer = std::move(answer)] {
      auto result = std::make_shared<base::Result<T>>(read(*reader_));
      waiting_.Leave(user);
      loop_.Post([answer, result] { answer(std::move(*result)); });
    });
  }

  template <class T>
  void Ask(std::function<base::Result<T>(store::Reader&)> read,
           std::function<void(base::Result<T>)> answer) {
    Ask<T>("", std::move(read), std::move(answer));
  }

 private:
  Loop& loop_;
  Loop& reads_;
  std::unique_ptr<store::Reader> reader_;
  WaitingQuestions waiting_{kMaxWaiting, kMaxWaitingOfUser};
};

}  // namespace trainctl::coordinator
