#include "worker/shim/rank_deadline.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "worker/shim/deadline_file.h"

namespace trainctl::shim {

// What is damaged or can't be read now leaves what was read before.
void RankDeadline::Look() {
  look_at_ = clock_.Steady() + kLookMicros;
  const base::Result<DeadlineFile> file = ReadDeadline(folder_, clock_);
  if (!file && file.error().code != base::Code::kNotFound) return Tell(file.error().message);
  at_ = file ? std::optional(file->at) : std::nullopt;
  grace_seconds_ = file ? static_cast<double>(file->grace_us) / 1e6 : 0;
}

void RankDeadline::Tell(const std::string& fault) {
  if (std::exchange(fault_, fault) == fault) return;
  std::fprintf(stderr, "trainshim: %s: %s\n", fault.c_str(),
               at_ ? "the deadline before it holds" : "no deadline is known");
}

bool RankDeadline::IsDue(bool has_worker) const {
  return at_ && clock_.Steady() >= *at_ + (has_worker ? kWorkerGoesFirstMicros : 0);
}

std::optional<double> RankDeadline::Come(bool has_worker) {
  const bool has_left = std::exchange(had_worker_, has_worker) && !has_worker;
  if (has_left || clock_.Steady() >= look_at_ || IsDue(has_worker)) Look();
  return IsDue(has_worker) ? std::optional(grace_seconds_) : std::nullopt;
}

int64_t RankDeadline::WaitMs(bool has_worker) const {
  base::SteadyMicros until = look_at_;
  if (at_) until = std::min(until, *at_ + (has_worker ? kWorkerGoesFirstMicros : 0));
  return (until - clock_.Steady()) / 1000 + 1;
}

}  // namespace trainctl::shim
