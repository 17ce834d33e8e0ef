#include "common/job/json_fields.h"
#include "common/json/write_json.h"
#include "common/rank/rank_json.h"

namespace trainctl::job {
namespace {

constexpr auto kPlanFields = [](auto& fields, auto& plan) {
  fields.Member("job", plan.job);
  fields.MemberIfAny("model_revision", plan.model_revision);
  fields.MemberOrDefault("site", plan.site);
  fields.Member("job_id", plan.job_id);
  fields.MemberOrDefault("owner", plan.owner);
  fields.MemberOrDefault("ended_jobs", plan.ended_jobs);
  fields.Member("attempt", plan.attempt);
  fields.MemberOrDefault("trial", plan.trial);
  fields.Member("rank", plan.rank);
  fields.Member("world_size", plan.world_size);
  fields.Named("device", plan.device, ParseDeviceKind);
  fields.Member("device_index", plan.device_index);
  fields.MemberOrDefault("host_place", plan.host_place);
  fields.MemberOrDefault("host_devices", plan.host_devices);
  fields.Member("device_uuid", plan.device_uuid);
  fields.MemberOrDefault("holds_gradients", plan.holds_gradients);
  fields.Member("threads", plan.threads);
  fields.MemberOrDefault("cpus", plan.cpus);
  fields.Member("bind_address", plan.bind_address);
  fields.Member("directory", plan.directory);
  fields.MemberOrDefault("read_roots", plan.roots.read);
  fields.MemberOrDefault("write_roots", plan.roots.write);
};

}  // namespace

std::string ToJson(const RankPlan& plan) {
  return WriteIndentedJson(WriteFields(plan, kPlanFields));
}

base::Result<RankPlan> RankPlanFromJson(std::string_view text) {
  return ReadFields<RankPlan>(text, "rank plan", kPlanFields);
}

}  // namespace trainctl::job
