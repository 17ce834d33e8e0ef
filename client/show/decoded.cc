#include "client/show/decoded.h"

namespace trainctl::client {

std::optional<job::JobState> StateOf(const v1::JobView& job) {
  return job::ParseJobState(job.state());
}

std::optional<job::WorkerState> StateOf(const v1::WorkerView& worker) {
  return job::ParseWorkerState(worker.state());
}

std::optional<job::WorkerState> StateOf(const v1::Hindrance& hindrance) {
  return job::ParseWorkerState(hindrance.state());
}

std::optional<job::LeaseState> StateOf(const v1::Lease& lease) {
  return job::ParseLeaseState(lease.state());
}

std::optional<job::Outcome> OutcomeOf(const v1::JobView& job) {
  return job::ParseOutcome(job.outcome());
}

std::optional<job::Outcome> OutcomeOf(const v1::AttemptView& attempt) {
  return job::ParseOutcome(attempt.outcome());
}

bool HasEnded(const v1::JobView& job) { return StateOf(job) == job::JobState::kFinished; }

bool Succeeded(const v1::JobView& job) { return OutcomeOf(job) == job::Outcome::kSucceeded; }

bool Succeeded(const v1::AttemptView& attempt) {
  return OutcomeOf(attempt) == job::Outcome::kSucceeded;
}

std::optional<job::DeviceKind> KindOf(const v1::WorkerView& worker) {
  return job::ParseDeviceKind(worker.device().kind());
}

bool IsSampledGpu(const v1::WorkerView& worker) {
  return KindOf(worker) == job::DeviceKind::kCuda && worker.has_device_sample();
}

}  // namespace trainctl::client
