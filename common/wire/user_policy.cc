#include "common/wire/user_policy.h"

#include "proto/trainctl.pb.h"

namespace trainctl::wire {

v1::UserPolicy ToWire(const job::UserPolicy& policy) {
  v1::UserPolicy message;
  if (policy.max_running_devices) message.set_max_running_devices(*policy.max_running_devices);
  if (policy.max_queued_jobs) message.set_max_queued_jobs(*policy.max_queued_jobs);
  if (policy.max_time_limit_seconds)
    message.set_max_time_limit_seconds(*policy.max_time_limit_seconds);
  if (policy.max_leased_devices) message.set_max_leased_devices(*policy.max_leased_devices);
  if (policy.max_lease_seconds) message.set_max_lease_seconds(*policy.max_lease_seconds);
  message.set_min_priority(policy.min_priority);
  message.set_max_priority(policy.max_priority);
  return message;
}

job::UserPolicy FromWire(const v1::UserPolicy& message) {
  job::UserPolicy policy;
  if (message.has_max_running_devices()) policy.max_running_devices = message.max_running_devices();
  if (message.has_max_queued_jobs()) policy.max_queued_jobs = message.max_queued_jobs();
  if (message.has_max_time_limit_seconds())
    policy.max_time_limit_seconds = message.max_time_limit_seconds();
  if (message.has_max_leased_devices()) policy.max_leased_devices = message.max_leased_devices();
  policy.max_lease_seconds.reset();
  if (message.has_max_lease_seconds()) policy.max_lease_seconds = message.max_lease_seconds();
  policy.min_priority = message.min_priority();
  policy.max_priority = message.max_priority();
  return policy;
}

}  // namespace trainctl::wire
