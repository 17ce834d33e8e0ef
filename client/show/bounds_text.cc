#include "client/show/bounds_text.h"

#include <optional>

#include "client/show/format.h"
#include "common/base/size.h"
#include "common/wire/user_policy.h"

namespace trainctl::client {
namespace {

std::string AtMost(int64_t most, const std::string& one) {
  return "at most " + WithThousands(most) + " " + one + (most == 1 ? "" : "s");
}

std::string Now(int64_t taken) { return " (" + WithThousands(taken) + " now)"; }

Json OrNull(const std::optional<int64_t>& bound) { return bound ? Json(*bound) : Json(); }

}  // namespace

std::string BoundsText(const v1::UserPolicy& message) {
  const job::UserPolicy policy = wire::FromWire(message), usual;
  std::string text;
  const auto add = [&](const std::string& bound) { text += (text.empty() ? "" : ", ") + bound; };
  if (policy.max_running_devices)
    add(AtMost(*policy.max_running_devices, "device") + " at once" + Now(message.held_devices()));
  if (policy.max_queued_jobs)
    add(AtMost(*policy.max_queued_jobs, "job") + " that wait" + Now(message.waiting_jobs()));
  if (policy.max_leased_devices) add(AtMost(*policy.max_leased_devices, "device") + " leased");
  if (policy.max_lease_seconds && policy.max_lease_seconds != usual.max_lease_seconds)
    add("leases of at most " + base::SpellDuration(*policy.max_lease_seconds));
  if (policy.max_time_limit_seconds)
    add("time limits of at most " + base::SpellDuration(*policy.max_time_limit_seconds));
  if (policy.min_priority > usual.min_priority || policy.max_priority < usual.max_priority) {
    add("priorities from " + std::to_string(policy.min_priority) + " to " +
        std::to_string(policy.max_priority));
  }
  return text.empty() ? "" : "This site lets " + message.user() + " have " + text + ".";
}

Json BoundsRecord(const v1::UserPolicy& message) {
  const job::UserPolicy policy = wire::FromWire(message);
  return {{"user", message.user()},
          {"max_running_devices", OrNull(policy.max_running_devices)},
          {"held_devices", message.held_devices()},
          {"max_queued_jobs", OrNull(policy.max_queued_jobs)},
          {"waiting_jobs", message.waiting_jobs()},
          {"max_leased_devices", OrNull(policy.max_leased_devices)},
          {"max_lease_seconds", OrNull(policy.max_lease_seconds)},
          {"max_time_limit_seconds", OrNull(policy.max_time_limit_seconds)},
          {"min_priority", policy.min_priority},
          {"max_priority", policy.max_priority}};
}

}  // namespace trainctl::client
