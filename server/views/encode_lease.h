// Leases as the API shows them. The loop's thread.
#pragma once

#include "proto/trainctl.pb.h"
#include "server/coordinator/coordinator.h"

namespace trainctl::views {

v1::Lease EncodeLease(const core::State& state, const core::LeaseRow& row);
// Those that are not over, by their start.
v1::LeasesResponse EncodeLeases(const coordinator::Coordinator& coordinator);

}  // namespace trainctl::views
