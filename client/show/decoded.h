// What messages say by name, as the values that the names stand for. Pure.
#pragma once

#include <optional>
#include <string>

#include "common/job/device.h"
#include "common/job/lease_state.h"
#include "common/job/outcome.h"
#include "common/job/worker_state.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// nullopt: a name that this version does not know.
std::optional<job::JobState> StateOf(const v1::JobView& job);
std::optional<job::WorkerState> StateOf(const v1::WorkerView& worker);
std::optional<job::WorkerState> StateOf(const v1::Hindrance& hindrance);
std::optional<job::LeaseState> StateOf(const v1::Lease& lease);

// nullopt: it has none yet, or one that this version does not know.
std::optional<job::Outcome> OutcomeOf(const v1::JobView& job);
std::optional<job::Outcome> OutcomeOf(const v1::AttemptView& attempt);

// FINISHED, with whatever outcome.
bool HasEnded(const v1::JobView& job);
bool Succeeded(const v1::JobView& job);
bool Succeeded(const v1::AttemptView& attempt);

// nullopt: a kind that this version does not know.
std::optional<job::DeviceKind> KindOf(const v1::WorkerView& worker);
// That has told of itself.
bool IsSampledGpu(const v1::WorkerView& worker);

}  // namespace trainctl::client
