// {"job": {canonical job}, "job_id", "attempt", "rank", "world_size", "device": "cuda" | "cpu", "device_index", "device_uuid",
//  "holds_gradients", "threads", "bind_address", "directory"}
#include "common/job/job_node.h"
#include "common/job/json_fields.h"
#include "common/job/rank_json.h"
#include "common/job/write_json.h"

namespace trainctl::job {
namespace {

std::string_view Name(DeviceKind kind) { return kind == DeviceKind::kCuda ? "cuda" : "cpu"; }

std::optional<DeviceKind> ParseDeviceKind(std::string_view name) {
  if (name == "cuda") return DeviceKind::kCuda;
  if (name == "cpu") return DeviceKind::kCpu;
  return std::nullopt;
}

void ReadPlan(JsonFields& fields, RankPlan& plan) {
  if (const JsonNode* node = fields.Require("job")) {
    auto job = FromNode(*node);
    if (job) plan.job = std::move(*job);
    else fields.Fail("job", job.error().message);
  }
  fields.Read("job_id", plan.job_id);
  fields.Read("attempt", plan.attempt);
  fields.Read("rank", plan.rank);
  fields.Read("world_size", plan.world_size);
  fields.ReadName("device", plan.device, ParseDeviceKind);
  fields.Read("device_index", plan.device_index);
  fields.Read("device_uuid", plan.device_uuid);
  fields.ReadIfPresent("holds_gradients", plan.holds_gradients);
  fields.Read("threads", plan.threads);
  fields.Read("bind_address", plan.bind_address);
  fields.Read("directory", plan.directory);
}

}  // namespace

std::string ToJson(const RankPlan& plan) {
  JsonNode node = JsonNode::Object();
  node.Add("job", ToNode(plan.job)).Add("job_id", plan.job_id).Add("attempt", plan.attempt).Add("rank", plan.rank);
  node.Add("world_size", plan.world_size).Add("device", Name(plan.device)).Add("device_index", plan.device_index);
  node.Add("device_uuid", plan.device_uuid)
      .Add("holds_gradients", plan.holds_gradients)
      .Add("threads", plan.threads)
      .Add("bind_address", plan.bind_address)
      .Add("directory", plan.directory);
  return WriteIndentedJson(node);
}

base::Result<RankPlan> RankPlanFromJson(std::string_view text) { return ReadFields<RankPlan>(text, "rank plan", ReadPlan); }

}  // namespace trainctl::job
