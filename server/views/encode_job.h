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
v1::AttemptView EncodeAttempt(const store::StoredAttempt& attempt);
// `detail.job` is not looked at: the snapshot stands for it.
v1::JobDetail EncodeDetail(const coordinator::JobSnapshot& snapshot,
                           const coordinator::JobDetail& detail);

}  // namespace trainctl::views
