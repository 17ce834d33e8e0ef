// {"phases": {"before_forward": {memory by kind}, …}, "peak_allocated", "sequence_length", "holds_gradients": true | false | null,
// "holding_bytes"}, in bytes and tokens; and the prediction, which is that with a "time".
#include "common/job/json_fields.h"
#include "common/job/memory_estimate.h"
#include "common/job/memory_json.h"
#include "common/job/prediction.h"
#include "common/job/write_json.h"

namespace trainctl::job {
namespace {

std::string_view NameOfPhase(size_t index) { return Name(static_cast<Phase>(index)); }

void ReadPhases(JsonFields& fields, MemoryEstimate& estimate) {
  for (size_t i = 0; i < estimate.phases.size(); ++i) fields.ReadObject(NameOfPhase(i), estimate.phases[i], ReadMemory);
}

void ReadEstimate(JsonFields& fields, MemoryEstimate& estimate) {
  fields.ReadObject("phases", estimate, ReadPhases);
  fields.Read("peak_allocated", estimate.peak_allocated);
  fields.Read("sequence_length", estimate.sequence_length);
  fields.Read("holds_gradients", estimate.holds_gradients);
  fields.ReadIfPresent("holding_bytes", estimate.holding_bytes);
}

void ReadTime(JsonFields& fields, TimeEstimate& time) {
  fields.Read("step_seconds", time.step_seconds);
  fields.Read("training_seconds", time.training_seconds);
  fields.Read("total_seconds", time.total_seconds);
  fields.Read("earlier_runs", time.earlier_runs);
  fields.Read("device_name", time.device_name);
}

void ReadPrediction(JsonFields& fields, Prediction& prediction) {
  ReadEstimate(fields, prediction.memory);
  fields.ReadObject("time", prediction.time, ReadTime);
}

JsonNode ToNode(const MemoryEstimate& estimate) {
  JsonNode phases = JsonNode::Object();
  for (size_t i = 0; i < estimate.phases.size(); ++i) phases.Add(std::string(NameOfPhase(i)), ToNode(estimate.phases[i]));
  JsonNode node = JsonNode::Object();
  node.Add("phases", std::move(phases)).Add("peak_allocated", estimate.peak_allocated).Add("sequence_length", estimate.sequence_length);
  node.Add("holds_gradients", estimate.holds_gradients ? JsonNode(*estimate.holds_gradients) : JsonNode{});
  node.Add("holding_bytes", estimate.holding_bytes);
  return node;
}

JsonNode ToNode(const TimeEstimate& time) {
  JsonNode node = JsonNode::Object();
  node.Add("step_seconds", time.step_seconds).Add("training_seconds", time.training_seconds).Add("total_seconds", time.total_seconds);
  node.Add("earlier_runs", time.earlier_runs).Add("device_name", time.device_name);
  return node;
}

}  // namespace

std::string ToJson(const MemoryEstimate& estimate) { return WriteJson(ToNode(estimate)); }

base::Result<MemoryEstimate> MemoryEstimateFromJson(std::string_view text) {
  return ReadFields<MemoryEstimate>(text, "memory estimate", ReadEstimate);
}

std::string ToJson(const Prediction& prediction) {
  JsonNode node = ToNode(prediction.memory);
  node.Add("time", prediction.time ? ToNode(*prediction.time) : JsonNode{});
  return WriteJson(node);
}

base::Result<Prediction> PredictionFromJson(std::string_view text) { return ReadFields<Prediction>(text, "prediction", ReadPrediction); }

}  // namespace trainctl::job
