// {"phases": {"before_forward": {memory by kind}, …}, "peak_allocated", "sequence_length"}, in bytes and tokens.
#include "common/job/json_fields.h"
#include "common/job/memory_estimate.h"
#include "common/job/memory_json.h"
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
}

}  // namespace

std::string ToJson(const MemoryEstimate& estimate) {
  JsonNode phases = JsonNode::Object();
  for (size_t i = 0; i < estimate.phases.size(); ++i) phases.Add(std::string(NameOfPhase(i)), ToNode(estimate.phases[i]));
  JsonNode node = JsonNode::Object();
  node.Add("phases", std::move(phases)).Add("peak_allocated", estimate.peak_allocated).Add("sequence_length", estimate.sequence_length);
  return WriteJson(node);
}

base::Result<MemoryEstimate> MemoryEstimateFromJson(std::string_view text) {
  return ReadFields<MemoryEstimate>(text, "memory estimate", ReadEstimate);
}

}  // namespace trainctl::job
