// Ranks of a test: one thread each, with a blackboard in the coordinator's place.
#pragma once

#include <exception>
#include <functional>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "worker/rank/comm/join_options.h"

namespace trainctl::comm {

// Rank 0's blob, for as many as wait for it.
class Blackboard {
 public:
  JoinOptions OptionsFor(int64_t rank, int64_t world_size) {
    JoinOptions options;
    options.rank = rank;
    options.world_size = world_size;
    options.timeout_seconds = 60;
    options.publish = [this](const std::string& blob) { blob_.set_value(blob); };
    options.await_blob = [this] { return AwaitBlob(); };
    return options;
  }
  std::string AwaitBlob() { return future_.get(); }

 private:
  std::promise<std::string> blob_;
  std::shared_future<std::string> future_ = blob_.get_future().share();
};

// Runs body(options) for every rank on a thread of its own; rethrows the first rank's exception
// when all have ended.
inline void RunRanks(int64_t world_size, const std::function<void(const JoinOptions&)>& body) {
  Blackboard blackboard;
  std::vector<std::exception_ptr> errors(static_cast<size_t>(world_size));
  std::vector<std::thread> threads;
  for (int64_t rank = 0; rank < world_size; ++rank) {
    threads.emplace_back([&, rank] {
      try {
        body(blackboard.OptionsFor(rank, world_size));
      } catch (...) {
        errors[static_cast<size_t>(rank)] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::exception_ptr& error : errors) {
    if (error) {
      std::rethrow_exception(error);
    }
  }
}

}  // namespace trainctl::comm
