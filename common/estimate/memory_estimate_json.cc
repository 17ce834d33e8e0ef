// {"phases": {"before_forward": {memory by kind}, …}, "peak_allocated", "sequence_length",
// "holds_gradients": true | false | null, "holding_bytes"}, in bytes and tokens; and the
// prediction, which is that with a "time".
#include "common/estimate/memory_estimate.h"
#include "common/estimate/prediction.h"
#include "common/job/json_fields.h"
#include "common/json/write_json.h"
#include "common/rank/memory_kind.h"

namespace trainctl::job {
namespace {

constexpr auto kPhasesFields = [](auto& fields, auto& phases) {
  for (size_t i = 0; i < phases.size(); ++i)
    fields.Object(Name(static_cast<Phase>(i)), phases[i], kMemoryFields);
};

constexpr auto kEstimateFields = [](auto& fields, auto& estimate) {
  fields.Object("phases", estimate.phases, kPhasesFields);
  fields.Member("peak_allocated", estimate.peak_allocated);
  fields.Member("sequence_length", estimate.sequence_length);
  fields.Member("holds_gradients", estimate.holds_gradients);
  fields.MemberOrDefault("holding_bytes", estimate.holding_bytes);
};

constexpr auto kTimeFields = [](auto& fields, auto& time) {
  fields.Member("step_seconds", time.step_seconds);
  fields.Member("training_seconds", time.training_seconds);
  fields.MemberOrDefault("evaluation_seconds", time.evaluation_seconds);
  fields.Member("total_seconds", time.total_seconds);
  fields.Member("earlier_runs", time.earlier_runs);
  fields.MemberIfAny("disturbed", time.disturbed);
  fields.Member("device_name", time.device_name);
  fields.MemberOrDefault("start_seconds", time.start_seconds);
  fields.MemberOrDefault("load_seconds", time.load_seconds);
  fields.MemberOrDefault("start_runs", time.start_runs);
  fields.NamedOrDefault("start_source", time.start_source, ParseStartSource);
  fields.MemberIfAny("one_step", time.one_step);
  fields.MemberIfAny("claimed", time.claimed);
  fields.MemberIfAny("believed_seconds", time.believed_seconds);
};

constexpr auto kPredictionFields = [](auto& fields, auto& prediction) {
  kEstimateFields(fields, prediction.memory);
  fields.Object("time", prediction.time, kTimeFields);
};

}  // namespace

std::string ToJson(const MemoryEstimate& estimate) {
  return WriteJson(WriteFields(estimate, kEstimateFields));
}

base::Result<MemoryEstimate> MemoryEstimateFromJson(std::string_view text) {
  return ReadFields<MemoryEstimate>(text, "memory estimate", kEstimateFields);
}

bool CountsOwnSteps(const JobSpec& job, const std::optional<Inspection>& inspection) {
  return !job.checkpoint.resume_from || (inspection && inspection->resume_step > 0);
}

std::string ToJson(const TimeEstimate& time) { return WriteJson(WriteFields(time, kTimeFields)); }

std::string ToJson(const Prediction& prediction) {
  return WriteJson(WriteFields(prediction, kPredictionFields));
}

base::Result<Prediction> PredictionFromJson(std::string_view text) {
  return ReadFields<Prediction>(text, "prediction", kPredictionFields);
}

}  // namespace trainctl::job
