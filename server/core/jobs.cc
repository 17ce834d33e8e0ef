// Submit and cancel.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/job/folder_claims.h"
#include "server/core/bounded_groups.h"
#include "server/core/gang.h"
#include "server/core/handlers.h"
#include "server/core/held.h"
#include "server/core/inspect.h"
#include "server/core/job_indexes.h"
#include "server/core/lease_events.h"
#include "server/core/quota.h"

namespace trainctl::core {
namespace {

// Why two jobs would write to one folder; empty: none would.
std::string FolderClash(const State& state, const std::vector<Submission>& jobs) {
  job::FolderClaims claims([&](const std::string& folder) {
    return job::FindLive(state.output_folders, folder,
                         [](base::JobId job) { return base::ToString(job); });
  });
  for (const Submission& submission : jobs) {
    if (const auto taken = claims.Claim(submission.spec))
      return job::Format({*taken}, submission.spec.name);
  }
  return "";
}

// Later is no better.
base::Error TooManyAtOnce(int64_t jobs, int64_t most, const std::string& whose) {
  return {base::Code::kExhausted, std::to_string(jobs) + " jobs in one submission: at most " +
                                      std::to_string(most) + " at once" + whose + "; submit fewer"};
}

// Why so many more jobs may not wait; nullopt: they may.
std::optional<base::Error> CheckBounds(const State& state, const JobsSubmitted& event) {
  const auto more = static_cast<int64_t>(event.jobs.size());
  const auto queued = static_cast<int64_t>(state.jobs.size() - state.live.size());
  const auto pass = [more](int64_t bound) {
    return std::to_string(more) + " more would pass the bound of " + std::to_string(bound);
  };
  if (more > state.options.policy.max_queued_jobs)
    return TooManyAtOnce(more, state.options.policy.max_queued_jobs, "");
  if (queued + more > state.options.policy.max_queued_jobs) {
    return base::Error{base::Code::kExhausted,
                       "the queue is full: " + std::to_string(queued) + " jobs wait, " +
                           pass(state.options.policy.max_queued_jobs) + "; submit again later"};
  }
  const std::optional<int64_t> granted = state.options.policy.Of(event.user).max_queued_jobs;
  const int64_t most = MostWaitingJobsOf(state, event.user);
  if (queued + more <= most) return std::nullopt;
  const int64_t of_user = WaitingJobsOf(state, event.user);
  if (of_user + more <= most) return std::nullopt;
  const std::string whose = granted ? " by this site's policy for " + event.user
                                    : " a user (traincoordinator --user-jobs)";
  if (more > most) return TooManyAtOnce(more, most, whose);
  return base::Error{base::Code::kExhausted, std::to_string(of_user) + " jobs of " + event.user +
                                                 " wait, " + pass(most) + whose +
                                                 ": cancel some, or submit again later"};
}

base::JobId Accept(Turn& turn, const Submission& submission, const JobsSubmitted& event,
                   base::GroupId group, std::set<Place>* places) {
  const base::JobId id{turn.state.next_job++};
  Job& job = turn.state.jobs.try_emplace(turn.state.jobs.end(), id)->second;
  job.row = {id,
             group,
             event.request_id,
             submission.spec,
             submission.inspection,
             submission.prediction,
             turn.now.wall,
             event.force,
             submission.micro_batch_auto ? submission.spec.train.micro_batch_size.value_or(1) : 0,
             event.user,
             std::nullopt};
  std::string said = "submitted";
  for (const std::string& told :
       job::FillIn(turn.state.options.policy.Of(event.user), event.user, &job.row.spec))
    said += "; " + told;
  turn.Persist(job.row);
  SaveJob(turn, job);
  Say(turn, id, said);
  EnterIndexes(turn.state, job);
  JoinLease(turn.state, job);
  JoinGroup(turn.state, group, event.max_parallel);
  places->insert(job.place());
  return id;
}

}  // namespace

void Handle(Turn& turn, const JobsSubmitted& event) {
  State& state = turn.state;
  if (auto bound = CheckBounds(state, event))
    return turn.Perform(SubmitRefused{event.request_id, std::move(*bound)});
  if (std::string clash = FolderClash(state, event.jobs); !clash.empty())
    return turn.Perform(SubmitRefused{event.request_id, {base::Code::kInvalid, std::move(clash)}});
  const job::UserPolicy granted = state.options.policy.Of(event.user);
  for (const Submission& submission : event.jobs) {
    const int64_t held = LeastHeld(state, event.user, submission.spec);
    std::string problem = job::Format(job::CheckPolicy(granted, event.user, submission.spec, held),
                                      submission.spec.name);
    if (problem.empty()) problem = LeaseProblem(state, submission.spec);
    if (!problem.empty())
      return turn.Perform(
          SubmitRefused{event.request_id, {base::Code::kInvalid, std::move(problem)}});
  }
  const base::GroupId group{event.group_name.empty() ? 0 : state.next_group++};
  turn.Persist(SubmissionRow{event.request_id, group, turn.now.wall});
  if (group) turn.Persist(GroupRow{group, event.group_name, turn.now.wall, event.max_parallel});
  SubmitAccepted accepted{event.request_id, group, {}};
  std::set<Place> places;
  for (const Submission& submission : event.jobs)
    accepted.jobs.push_back(Accept(turn, submission, event, group, &places));
  // In this order a bounded group's first go under way.
  for (const Place& place : places) Enqueue(turn, state.jobs.at(place.job));
  turn.Perform(std::move(accepted));
  turn.placement_may_change = true;
}

void Handle(Turn& turn, const CancelRequested& event) {
  const auto found = turn.state.jobs.find(event.job);
  if (found == turn.state.jobs.end() || found->second.status.cancel_requested) return;
  Job& job = found->second;
  job.status.cancel_requested = true;
  Say(turn, job.row.id, "cancel requested");
  if (job.attempt && job.attempt->row.stop) return SaveJob(turn, job);
  if (job.attempt) {
    return StopGang(
        turn, job,
        {job::Outcome::kCancelled, "cancelled", std::nullopt, turn.state.options.stop_grace_us});
  }
  LeaveQueue(turn.state, job);
  turn.placement_may_change = true;
  Finish(turn, job, {job::Outcome::kCancelled, "cancelled while it waited"});
}

void Handle(Turn& turn, const JobsRemoved& event) {
  for (const base::JobId job : event.jobs) {
    if (!turn.state.jobs.contains(job)) turn.Persist(RemoveJob{job});
  }
}

}  // namespace trainctl::core
