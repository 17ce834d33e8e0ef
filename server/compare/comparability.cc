#include <functional>
#include <set>
#include <string>

#include "common/job/batch.h"
#include "server/compare/sections.h"

namespace trainctl::compare {
namespace {

// The distinct known values in order of the runs: "8, 32". Empty where fewer than two are known to
// differ.
std::string Differing(const std::vector<Run>& runs,
                      const std::function<std::string(const Run&)>& value_of) {
  std::set<std::string> seen;
  std::string text;
  for (const Run& run : runs) {
    const std::string value = value_of(run);
    if (value.empty() || !seen.insert(value).second) continue;
    text += (text.empty() ? "" : ", ") + value;
  }
  return seen.size() < 2 ? "" : text;
}

std::string GlobalBatch(const Run& run) {
  const base::Result<job::BatchPlan> batch = job::PlanBatch(run.job);
  return batch.ok() ? std::to_string(batch->global) : "";
}

std::string DataDigest(const Run& run) { return run.inspection ? run.inspection->data_digest : ""; }

std::string LrScaling(const Run& run) {
  return run.job.optimizer.lr_scaling == job::LrScaling::kLinear ? "linear" : "none";
}

struct Circumstance {
  const char* name;
  std::string Run::* value;
  const char* consequence;
};

constexpr Circumstance kCircumstances[] = {
    {"device", &Run::device_name, "time and memory are of different hardware"},
    {"host", &Run::host, "processors, links and neighbours may differ"},
    {"driver", &Run::driver, "time may differ for that alone"},
    {"LibTorch", &Run::libtorch, "time and memory may differ for that alone"},
    {"NCCL", &Run::nccl, "communication time may differ for that alone"},
    {"commit", &Run::commit, "another version of trainctl made the other run"},
};

void WarnOfData(const std::vector<Run>& runs, std::vector<std::string>* warnings) {
  if (!Differing(runs, DataDigest).empty()) {
    warnings->push_back("the data differ (other bytes in the file): losses are not comparable");
  }
}

void WarnOfBatch(const std::vector<Run>& runs, std::vector<std::string>* warnings) {
  const std::string rules = Differing(runs, LrScaling);
  if (!rules.empty()) {
    warnings->push_back("the learning-rate rule differs (lr_scaling " + rules +
                        "): losses are not comparable");
    return;
  }
  const std::string batches = Differing(runs, GlobalBatch);
  if (batches.empty() || LrScaling(runs.front()) == "linear") return;
  warnings->push_back("the global batch differs (" + batches +
                      ") without a learning-rate rule: fewer, larger steps at the same lr; set "
                      "optimizer.lr_scaling to \"linear\", "
                      "or compare time and memory only");
}

void WarnOfInterruptions(const Run& run, std::vector<std::string>* warnings) {
  if (run.attempts <= 1 && !run.preempted) return;
  const std::string what = run.preempted ? "was preempted" : "was restarted";
  warnings->push_back(run.name + " (" + run.id + ") " + what + " (" + std::to_string(run.attempts) +
                      " attempts): its time is not that of one undisturbed run");
}

}  // namespace

std::vector<std::string> ComparabilityWarnings(const std::vector<Run>& runs) {
  std::vector<std::string> warnings;
  WarnOfData(runs, &warnings);
  WarnOfBatch(runs, &warnings);
  for (const Circumstance& circumstance : kCircumstances) {
    const std::string values =
        Differing(runs, [&](const Run& run) { return run.*circumstance.value; });
    if (!values.empty()) {
      warnings.push_back(std::string("the ") + circumstance.name + " differs (" + values +
                         "): " + circumstance.consequence);
    }
  }
  for (const Run& run : runs) WarnOfInterruptions(run, &warnings);
  for (const Run& run : runs) {
    if (run.state != job::JobState::kFinished) {
      warnings.push_back(run.name + " (" + run.id +
                         ") has not finished: its numbers are of the run so far");
    }
  }
  return warnings;
}

}  // namespace trainctl::compare
