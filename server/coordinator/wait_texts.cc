#include "server/coordinator/wait_texts.h"

namespace trainctl::coordinator {

const WaitText& WaitTexts::Of(const core::State& state, const core::Job& job,
                              const core::Now& now) {
  if (now.steady - made_ > kMaxAge) Forget();
  if (texts_.empty()) made_ = now.steady;
  const auto [text, is_new] = texts_.try_emplace(job.row.id.value);
  if (!is_new) return text->second;
  text->second.reason = core::Reason(state, job, now);
  if (const auto start = core::PredictedStart(state, job, now))
    text->second.predicted_start = now.wall + (*start - now.steady);
  return text->second;
}

}  // namespace trainctl::coordinator
