// Until when the rank may run, for when its worker does not keep that itself: it is dead, or hangs.
// The worker writes deadline.json (deadline_file.h), and may write another at any time. So the file
// is read every kLookMicros, when the worker leaves, and once more before its word is taken. Its
// time is that of a clock that nobody sets. One that is damaged later neither ends the rank nor
// takes its deadline away. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "common/base/clock.h"

namespace trainctl::shim {

class RankDeadline {
 public:
  static constexpr base::SteadyMicros kLookMicros = 5'000'000;
  // A worker that is connected goes first.
  static constexpr base::SteadyMicros kWorkerGoesFirstMicros = 5'000'000;

  RankDeadline(std::string folder, const base::Clock& clock)
      : folder_(std::move(folder)), clock_(clock) {}

  // Once it has come: the grace in seconds that the rank has then.
  std::optional<double> Come(bool has_worker);
  // Until Come may say something else, milliseconds.
  int64_t WaitMs(bool has_worker) const;

 private:
  bool IsDue(bool has_worker) const;
  void Look();
  // On stderr, once.
  void Tell(const std::string& fault);

  const std::string folder_;
  const base::Clock& clock_;
  std::optional<base::SteadyMicros> at_;
  double grace_seconds_ = 0;
  base::SteadyMicros look_at_ = 0;
  bool had_worker_ = false;
  std::string fault_;
};

}  // namespace trainctl::shim
