#include "client/submit/patience.h"

namespace trainctl::client {
namespace {

constexpr int64_t kSilenceBorneMicros = 600'000'000;

}  // namespace

void Patience::Heard() {
  if (silent_since_) note_("The coordinator answers again.");
  silent_since_.reset();
  answered_ = true;
}

bool Patience::Bear(const base::Error& error) {
  if (error.code != base::Code::kUnavailable || !answered_) return false;
  const base::SteadyMicros now = clock_.Steady();
  if (!silent_since_)
    note_(
        "The coordinator does not answer; the jobs go on without it. Trying again for ten minutes "
        "…");
  silent_since_ = silent_since_.value_or(now);
  return now - *silent_since_ <= kSilenceBorneMicros;
}

}  // namespace trainctl::client
