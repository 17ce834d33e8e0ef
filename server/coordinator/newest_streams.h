// Which stream each worker began last. A Hello of an earlier one may be read behind it: it tells
// what was, and would take a running rank for gone. The loop's thread only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>

#include "server/core/events.h"

namespace trainctl::coordinator {

class NewestStreams {
 public:
  // Of one folder, whose processes follow each other. More than have a Hello under way.
  static constexpr size_t kMostEndedProcesses = 8;

  // Whether the worker has begun a later stream: its process, or one that followed it. A worker
  // that does not number its streams is believed.
  bool IsOld(const core::WorkerHello& hello) const;
  void Note(const core::WorkerHello& hello);

 private:
  struct Newest {
    std::string incarnation;
    int64_t stream = 0;
    std::deque<std::string> ended;  // processes before that one, the oldest first
  };
  // A name and the identity of the folder behind it.
  std::map<std::pair<std::string, std::string>, Newest> workers_;
};

}  // namespace trainctl::coordinator
