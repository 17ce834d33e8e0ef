#include "server/coordinator/newest_streams.h"

#include <algorithm>

namespace trainctl::coordinator {

bool NewestStreams::IsOld(const core::WorkerHello& hello) const {
  const auto found = workers_.find({hello.worker.name, hello.worker.identity});
  if (found == workers_.end() || hello.stream == 0) return false;
  const Newest& newest = found->second;
  if (hello.incarnation == newest.incarnation) return hello.stream < newest.stream;
  return std::ranges::find(newest.ended, hello.incarnation) != newest.ended.end();
}

void NewestStreams::Note(const core::WorkerHello& hello) {
  const auto [at, is_new] = workers_.try_emplace({hello.worker.name, hello.worker.identity},
                                                 Newest{hello.incarnation, hello.stream, {}});
  if (is_new) return;
  Newest& newest = at->second;
  newest.stream = hello.stream;
  if (hello.incarnation == newest.incarnation) return;
  newest.ended.push_back(std::exchange(newest.incarnation, hello.incarnation));
  if (newest.ended.size() > kMostEndedProcesses) newest.ended.pop_front();
}

}  // namespace trainctl::coordinator
