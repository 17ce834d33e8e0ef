#include "worker/rank/process/run_log.h"

#include <cstdio>
#include <utility>

#include "common/base/size.h"

namespace trainctl::train {
namespace {

constexpr base::SteadyMicros kLineInterval = 1'000'000;

std::string Formatted(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

// "99.5", "6,099".
std::string RateText(double rate) {
  if (rate < 100) return Formatted("%.1f", rate);
  std::string text = Formatted("%.0f", rate);
  for (size_t at = text.size(); at > 3; at -= 3) text.insert(at - 3, 1, ',');
  return text;
}

std::string StepName(int64_t steps_done, int64_t steps) {
  return "step " + std::to_string(steps_done) + "/" + std::to_string(steps);
}

bool IsDue(const std::optional<base::SteadyMicros>& told, base::SteadyMicros now) {
  return !told || now - *told >= kLineInterval;
}

}  // namespace

void RunLog::Phase(job::RunPhase phase, base::SteadyMicros now) {
  if (!begun_.insert(phase).second) return;
  AddStep();
  Add(now, std::string(job::Name(phase)));
}

void RunLog::Evaluated(const LoggedEvaluation& evaluation, base::SteadyMicros now) {
  evaluation_ = {evaluation, now};
}

void RunLog::Saved(const std::string& kind, const std::string& path, int64_t bytes,
                   base::SteadyMicros now) {
  AddStep();
  AddEvaluation();
  Add(now, "saved " + kind + ", " + base::FormatBytes(bytes) + ": " + path);
}

std::string RunLog::Take(base::SteadyMicros now, bool all) {
  if (step_ && (all || IsDue(step_told_, now))) {
    AddStep();
    step_told_ = now;
  }
  if (evaluation_ && (all || IsDue(evaluation_told_, now))) {
    AddEvaluation();
    evaluation_told_ = now;
  }
  return std::exchange(lines_, {});
}

void RunLog::Add(base::SteadyMicros time, const std::string& text) {
  lines_ += Formatted("%8.1f s  ", static_cast<double>(time - begin_) / 1e6) + text + "\n";
}

void RunLog::AddStep() {
  if (!step_) return;
  const auto& [step, time] = *step_;
  const std::string loss = step.loss ? Formatted("loss %.4g", *step.loss) : "no loss";
  Add(time, StepName(step.steps_done, step.steps) + "  " + loss + "  " +
                RateText(step.tokens_per_second) + " tokens/s  peak " +
                base::FormatBytes(step.peak_allocated_bytes) + Formatted("  lr %.3g", step.lr));
  step_.reset();
}

void RunLog::AddEvaluation() {
  if (!evaluation_) return;
  const auto& [evaluation, time] = *evaluation_;
  const std::string loss =
      evaluation.val_loss ? Formatted("validation loss %.4g  ", *evaluation.val_loss) : "";
  Add(time, StepName(evaluation.steps_done, evaluation.steps) + "  " + loss +
                Formatted("evaluated in %.1f s", evaluation.seconds));
  evaluation_.reset();
}

}  // namespace trainctl::train
