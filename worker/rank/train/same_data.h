// Ranks of a gang train on parts of the same rows.
#pragma once

#include <c10/core/Device.h>

#include "worker/rank/comm/communicator.h"
#include "worker/rank/data/dataset.h"

namespace trainctl::train {

// A collective. Throws RunFailure of the same words at every rank. Then one has read other files
// than rank 0, left out other rows, or made other tokens.
void CheckSameData(const data::Dataset& dataset, comm::Communicator& comm, at::Device device);

}  // namespace trainctl::train
