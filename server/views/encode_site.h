// What is stored and what is live, together, as the API shows them. The loop's thread.
#pragma once

#include <string>
#include <vector>

#include "proto/trainctl.pb.h"
#include "server/coordinator/coordinator.h"
#include "server/coordinator/questions.h"

namespace trainctl::views {

// These jobs, and every worker of the inventory.
v1::ListResponse EncodeList(const coordinator::Coordinator& coordinator,
                            std::vector<store::StoredJob> jobs);

// What each of these workers had to do in the last minutes.
void AddLoads(const coordinator::Coordinator& coordinator,
              google::protobuf::RepeatedPtrField<v1::WorkerView>* workers);

// Without the version and the address of the dashboard, which whoever serves knows.
v1::WorkersResponse EncodeWorkers(const coordinator::Coordinator& coordinator);
// With what jobs of that user may do on each, and what the site grants the user.
v1::WorkersResponse EncodeWorkersFor(const std::string& user,
                                     const coordinator::Coordinator& coordinator);

v1::GetResponse EncodeDetails(const coordinator::Coordinator& coordinator,
                              coordinator::Details details);

}  // namespace trainctl::views
