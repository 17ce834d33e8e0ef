#include "worker/rank/state/room_wait.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

#include "common/base/writable_folder.h"

namespace trainctl::train {
namespace {

constexpr base::SteadyMicros kLongest = 3'600'000'000;
constexpr base::SteadyMicros kUntilRetry = 30'000'000;
constexpr auto kPause = std::chrono::milliseconds(250);

// A disk that does not say has none.
int64_t RoomIn(const std::string& folder) {
  const base::Result<int64_t> bytes = base::FreeBytes(folder);
  return bytes.ok() ? *bytes : 0;
}

}  // namespace

bool RoomWait::Await(const base::Error& why, const std::string& folder, int64_t bytes) {
  if (give_up_at_ == 0) Begin(why);
  const int64_t free_before = RoomIn(folder);
  const base::SteadyMicros retry_at = clock_.Steady() + kUntilRetry;
  while (!commands_.stop_requested() && clock_.Steady() < give_up_at_) {
    std::this_thread::sleep_for(kPause);
    reporter_.Phase(job::RunPhase::kSaving, 0, bytes);
    const int64_t free_bytes = RoomIn(folder);
    if (free_bytes > std::max(free_before, bytes) || clock_.Steady() >= retry_at) return true;
  }
  return false;
}

void RoomWait::Begin(const base::Error& why) {
  give_up_at_ = clock_.Steady() + kLongest;
  const std::string text =
      "output.dir: " + why.message + "; saving waits for room, an hour at most";
  std::fprintf(stderr, "trainrank: %s\n", text.c_str());
  reporter_.Send(job::RankNotice{text});
}

}  // namespace trainctl::train
