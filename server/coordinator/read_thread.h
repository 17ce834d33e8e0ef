// Questions to the store that may take a while, on a thread of their own. So no listing or
// comparison delays a submission or a worker. Answers come back on the coordinator's loop.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "common/base/result.h"
#include "server/coordinator/event_loop.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

class ReadThread {
 public:
  static constexpr size_t kMaxWaiting = 1024;

  ReadThread(EventLoop& loop, std::unique_ptr<store::Reader> reader)
      : loop_(loop), reader_(std::move(reader)) {
    reads_.Start();
  }

  // Any thread. `read` runs on this thread, `answer` then on the loop's; kExhausted where too many
  // questions wait.
  template <class T>
  void Ask(std::function<base::Result<T>(store::Reader&)> read,
           std::function<void(base::Result<T>)> answer) {
    if (waiting_.fetch_add(1) >= kMaxWaiting) {
      waiting_.fetch_sub(1);
      const base::Error busy{
          base::Code::kExhausted,
          std::to_string(kMaxWaiting) + " questions wait already: try again in a moment"};
      return loop_.Post([answer = std::move(answer), busy] { answer(busy); });
    }
    reads_.Post([this, read = std::move(read), answer = std::move(answer)] {
      auto result = std::make_shared<base::Result<T>>(read(*reader_));
      waiting_.fetch_sub(1);
      loop_.Post([answer, result] { answer(std::move(*result)); });
    });
  }

  // Answers what was asked before. Not on the loop's thread.
  void Stop() { reads_.Stop(); }

 private:
  EventLoop& loop_;
  std::unique_ptr<store::Reader> reader_;
  std::atomic<size_t> waiting_ = 0;
  EventLoop reads_;
};

}  // namespace trainctl::coordinator
