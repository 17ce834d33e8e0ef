// A walk over the first jobs of all lanes in the queue's order, kind by kind: whoever walks passes
// over heads of a kind together. On the way heads may leave the queue, and the next jobs of their
// lanes move up. Internal to this room.
#pragma once

#include <optional>
#include <vector>

#include "server/core/queue.h"

namespace trainctl::core {

class Walk {
 public:
  struct Stop {
    const Queue::Kind* kind = nullptr;
    Queue::Heads::const_iterator head;
  };

  explicit Walk(const Queue& queue) : queue_(queue), met_(queue.kind_numbers()) {}

  // The first head of a kind that it has not met, or one that it was told to stop at: whichever is
  // first. nullopt: none is left. Never one before the last that it gave.
  std::optional<Stop> Next();
  // Stops at that head too, which may not leave the queue before. Without this call the walk is
  // over for a kind.
  void StopAt(const Queue::Kind& kind, Queue::Heads::const_iterator head);

 private:
  std::optional<Stop> FirstNotMet();

  const Queue& queue_;
  std::optional<Place> met_until_;  // among the kinds' firsts
  std::vector<bool> met_;           // by Queue::Kind::number
  std::vector<Stop> stops_;         // a heap, the first on top
};

}  // namespace trainctl::core
