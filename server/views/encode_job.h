// Jobs as the API shows them.
#pragma once

#include "server/coordinator/overlay.h"
#include "server/coordinator/questions.h"

namespace trainctl::v1 {
class AttemptView;
class JobDetail;
class JobView;
}  // namespace trainctl::v1

namespace trainctl::views {

v1::JobView EncodeJob(const coordinator::JobSnapshot& snapshot);
// Why it waits, and when one that has devices is expected to end. Of a job that has ended: nothing.
void EncodeWait(const core::State& state, base::JobId job, const core::Now& now,
                v1::JobDetail* detail);
v1::AttemptView EncodeAttempt(const store::StoredAttempt& attempt);
// `detail.job` is not looked at: the snapshot stands for it.
v1::JobDetail EncodeDetail(const coordinator::JobSnapshot& snapshot,
                           const coordinator::JobDetail& detail);

}  // namespace trainctl::views
