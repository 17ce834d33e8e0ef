// Workers as the API shows them.
#pragma once

#include <string>

#include "common/job/host_rules.h"
#include "server/coordinator/worker_sessions.h"
#include "server/core/state.h"

namespace trainctl::v1 {
class WorkerView;
}

namespace trainctl::views {

// session: nullptr where the worker is not connected; then there are no samples.
v1::WorkerView EncodeWorker(const core::State& state, const core::Worker& worker,
                            const coordinator::WorkerSessions::Session* session,
                            const core::Now& now);

// What jobs of that user may do there. Whose else run there is not told.
void EncodeRules(const job::HostRules& rules, const std::string& user, v1::WorkerView* view);

}  // namespace trainctl::views
