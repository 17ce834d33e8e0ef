// Leases as the API shows them. The loop's thread.
#pragma once

#include <string>

#include "proto/trainctl.pb.h"
#include "server/coordinator/coordinator.h"

namespace trainctl::views {

v1::Lease EncodeLease(const core::State& state, const core::LeaseRow& row);
// Those that are not over, by their start; and of them those with devices of a worker or host.
google::protobuf::RepeatedPtrField<v1::Lease> EncodeLeasesOn(const core::State& state,
                                                             const std::string& target);
v1::LeasesResponse EncodeLeases(const coordinator::Coordinator& coordinator);

}  // namespace trainctl::views
