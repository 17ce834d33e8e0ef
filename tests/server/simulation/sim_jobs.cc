// Jobs, as people submit, cancel and remove them.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <utility>

#include "common/estimate/memory_estimate.h"
#include "server/coordinator/job_outputs.h"
#include "tests/server/simulation/people.h"
#include "tests/server/simulation/sim_cluster.h"

namespace trainctl::core {

void SimCluster::Submit() {
  JobsSubmitted request{"r" + std::to_string(++names_), Chance(random_, 20) ? "lab" : "", {}};
  request.user = Chance(random_, 50) ? "ann" : "bob";
  const uint64_t most_copies = size() == Size::kSmall ? 3 : 30;
  const uint64_t copies = request.group_name.empty() ? 1 : 2 + random_() % most_copies;
  for (uint64_t i = 0; i < copies; ++i) {
    Submission& job = request.jobs.emplace_back();
    job.spec = DrawJob(request.user);
    job.micro_batch_auto = Chance(random_, 15);
    if (job.micro_batch_auto) job.spec.train.micro_batch_size = kAutoMicroBatch;
    if (job.micro_batch_auto || Chance(random_, 50)) job.inspection = job::Inspection();
    if (Chance(random_, 40))
      job.spec.output = {"/out/" + request.request_id + "-" + std::to_string(i), job::Save::kFinal};
  }
  request.force = Chance(random_, 20);
  if (!request.group_name.empty() && Chance(random_, 50))
    request.max_parallel = 1 + static_cast<int64_t>(random_() % 2);
  Send(request);
}

job::JobSpec SimCluster::DrawJob(const std::string& user) {
  job::JobSpec spec;
  spec.model.path = spec.data.path = "/data";
  spec.train.micro_batch_size = 1;
  spec.devices = DrawDevices();
  spec.exclusive = Chance(random_, 15);
  spec.resources.priority = static_cast<int64_t>(random_() % 3) * 25;
  spec.resources.preemptible = Chance(random_, 60);
  spec.resources.max_restarts = static_cast<int64_t>(random_() % 3);
  spec.resources.step_timeout_seconds = 30;
  if (Chance(random_, 20)) spec.resources.time_limit_seconds = 40;
  if (Chance(random_, 15)) MakeFollow(&spec);
  if (Chance(random_, 30)) Constrain(&spec);
  if (!state().leases.empty() && Chance(random_, 30)) {
    const auto lease = std::next(state().leases.begin(),
                                 static_cast<std::ptrdiff_t>(random_() % state().leases.size()));
    if (lease->second.row.user == user) spec.resources.lease = lease->second.row.name;
    if (Chance(random_, 70)) spec.devices = 1;
  }
  return spec;
}

void SimCluster::Send(const JobsSubmitted& request) {
  requests_[request.request_id] = std::ssize(request.jobs);
  unanswered_.push_back(request);
  Ask([this, request](coordinator::Coordinator& shell) {
    shell.Submit(request, Person(request.user),
                 [this, request](const base::Result<coordinator::Submitted>& answer) {
                   Answered(request, answer);
                 });
  });
}

// Whoever asks again gets the same jobs, until they are lost or removed.
void SimCluster::Answered(const JobsSubmitted& request,
                          const base::Result<coordinator::Submitted>& answer) {
  const bool asks_again = !answer && (answer.error().code == base::Code::kExhausted ||
                                      answer.error().code == base::Code::kIo);
  if (asks_again) return;
  std::erase_if(unanswered_,
                [&](const JobsSubmitted& other) { return other.request_id == request.request_id; });
  const auto before = answers_.find(request.request_id);
  if (!answer) {
    const bool is_removed = answer.error().code == base::Code::kConflict;
    ASSERT_TRUE(before == answers_.end() || is_removed)
        << request.request_id << " was accepted, and is refused: " << answer.error().message;
    return;
  }
  std::vector<base::JobId> jobs;
  for (const coordinator::Submitted::Job& job : answer->jobs) jobs.push_back(job.id);
  for (const base::JobId id : jobs) {
    ASSERT_EQ(ledger().jobs().at(id).row.request_id, request.request_id);
    const bool is_its = before == answers_.end() || std::ranges::count(before->second, id) > 0;
    ASSERT_TRUE(is_its) << request.request_id << " is doubled";
    accepted_.insert(id);
  }
  if (before == answers_.end()) answers_[request.request_id] = jobs;
}

// Whoever got no answer, and now and then who got one.
void SimCluster::AskAgain() {
  if (unanswered_.empty()) return;
  const JobsSubmitted request = unanswered_[random_() % unanswered_.size()];
  Send(request);
  if (Chance(random_, 30)) Send(request);
}

// Where there are many, most gangs want a part of them.
int64_t SimCluster::DrawDevices() {
  constexpr int64_t kMostOfLarge = 24;
  if (Chance(random_, 60)) return 1;
  const bool is_bounded = size() == Size::kLarge && Chance(random_, 95);
  const int64_t most = is_bounded ? kMostOfLarge : largest_gang_;
  return 1 + static_cast<int64_t>(random_() % static_cast<uint64_t>(most));
}

// Inspected.
void SimCluster::SubmitOne(const std::string& user, int64_t devices, int64_t priority,
                           std::optional<int64_t> limit_seconds) {
  job::JobSpec spec;
  spec.model.path = spec.data.path = "/data";
  spec.train.micro_batch_size = 1;
  spec.devices = devices;
  spec.resources.priority = priority;
  spec.resources.step_timeout_seconds = 30;
  spec.resources.time_limit_seconds = limit_seconds;
  JobsSubmitted request{"r" + std::to_string(++names_), "", {}};
  request.jobs.push_back({spec, job::Inspection(), std::nullopt, false});
  request.user = user;
  Send(request);
}

// Of those that have not ended: the shell looks after the others.
void SimCluster::MakeFollow(job::JobSpec* spec) {
  for (const auto& [id, job] : state().jobs) {
    if (Chance(random_, 30))
      spec->resources.after[base::ToString(id)] =
          Chance(random_, 50) ? job::After::kOk : job::After::kAny;
  }
}

// To hosts or racks that can hold it, as a submit sees to.
void SimCluster::Constrain(job::JobSpec* spec) {
  static constexpr std::array<std::pair<const char*, const char*>, 6> kConstraints = {
      {{"host", "=a"},
       {"host", "=a,b"},
       {"host", "!=a"},
       {"label.rack", "=r1"},
       {"label.rack", "!=r1"},
       {"label.rack", "=r0,r1"}}};
  const auto& [key, text] = kConstraints[random_() % kConstraints.size()];
  spec->resources.constraints[key] = text;
  std::map<std::string, int64_t> devices;
  std::string reason;
  for (const SimWorker& worker : workers_) {
    const WorkerRow row = worker.Hello().worker;
    if (job::MeetsConstraints(*spec, SiteDeviceOf(row), &reason)) ++devices[row.device.name];
  }
  int64_t most = 0;
  for (const auto& [model, count] : devices) most = std::max(most, count);
  if (most == 0) return spec->resources.constraints.clear();
  spec->devices = std::min(spec->devices, most);
}

std::optional<base::JobId> SimCluster::AnyAccepted() {
  if (accepted_.empty()) return std::nullopt;
  return base::JobId{
      1 + static_cast<int64_t>(random_() % static_cast<uint64_t>(accepted_.rbegin()->value))};
}

void SimCluster::Cancel() {
  const std::optional<base::JobId> id = AnyAccepted();
  if (!id) return;
  Ask([id](coordinator::Coordinator& shell) { shell.Cancel({*id}, Operator(), Ignored()); });
}

// With their logs.
void SimCluster::RemoveJobs() {
  const std::optional<base::JobId> id = AnyAccepted();
  if (!id) return;
  Ask([this, id = *id](coordinator::Coordinator& shell) {
    shell.RemoveJobs({id}, Operator(), [this, id](const base::Status& removed) {
      ASSERT_FALSE(removed.ok() && ledger().jobs().contains(id)) << base::ToString(id);
      ASSERT_FALSE(removed.ok() && *coordinator_->shell().logs().Has(id)) << base::ToString(id);
    });
  });
}

// With what they have saved.
void SimCluster::RemoveOutputs() {
  const std::optional<base::JobId> id = AnyAccepted();
  if (!id || !ledger().jobs().contains(*id)) return;
  // One that has run, where there is one: the others have saved nothing.
  JobRow row = ledger().jobs().at(*id).row;
  uint64_t have_run = 0;
  for (const auto& [other, job] : ledger().jobs()) {
    if (job.status.state != job::JobState::kFinished || job.status.attempt == 0) continue;
    if (random_() % ++have_run == 0) row = job.row;
  }
  const bool look_only = Chance(random_, 30);
  const auto answer = [this, id = row.id,
                       look_only](const base::Result<std::vector<job::HostOutputs>>& removed) {
    if (!removed.ok() || look_only) return;
    ASSERT_FALSE(ledger().jobs().contains(id)) << base::ToString(id);
  };
  Ask([this, row, look_only, answer](coordinator::Coordinator& shell) {
    coordinator_->reads().Ask<coordinator::JobOutputs>(
        [row](store::Reader& reader) { return coordinator::FindOutputs(reader, row); },
        [&shell, look_only, answer](base::Result<coordinator::JobOutputs> outputs) {
          if (outputs) shell.RemoveOutputs(std::move(*outputs), look_only, Operator(), answer);
        });
  });
}

}  // namespace trainctl::core
