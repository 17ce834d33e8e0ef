// Questions to the store on a thread of their own.
#pragma once

#include <memory>
#include <utility>

#include "server/coordinator/event_loop.h"
#include "server/coordinator/read_queue.h"

namespace trainctl::coordinator {

// Stands before the queue that works on it.
struct ReadingLoop {
  EventLoop reads;
};

class ReadThread : ReadingLoop, public ReadQueue {
 public:
  ReadThread(Loop& loop, std::unique_ptr<store::Reader> reader)
      : ReadQueue(loop, reads, std::move(reader)) {
    reads.Start();
  }
  ~ReadThread() { Stop(); }

  // Answers what was asked before. Not on the loop's thread. Idempotent.
  void Stop() { reads.Stop(); }
};

}  // namespace trainctl::coordinator
