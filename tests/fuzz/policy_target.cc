// A site's policy file, and a job of somebody whom it names.
#include <string>

#include "common/base/check.h"
#include "server/core/policy_file.h"
#include "tests/fuzz/targets.h"

namespace trainctl::fuzz {

bool ReadPolicy(std::string_view bytes) {
  const auto policy = core::ReadSitePolicy(bytes, "policy.json");
  if (!policy) {
    CHECK(policy.error().message.find("policy.json") != std::string::npos)
        << policy.error().message;
    return false;
  }
  for (const auto& [user, grant] : policy->users) {
    CHECK(!user.empty());
    CHECK(!grant.max_running_devices || *grant.max_running_devices >= 0) << user;
  }
  CHECK(!policy->half_life_us || *policy->half_life_us > 0);
  return true;
}

}  // namespace trainctl::fuzz
