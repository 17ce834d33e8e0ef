#include "server/core/bounded_groups.h"

#include "common/base/check.h"
#include "server/core/inspect.h"
#include "server/core/quota.h"

namespace trainctl::core {
namespace {

bool MayAdmit(const BoundedGroup& group) {
  return static_cast<int64_t>(group.under_way.size()) < group.max_parallel;
}

// All are of one owner. A share by which one of them is lifted is no part of their order.
bool IsBefore(const Job& left, const Job& right) {
  return Place{job::PriorityOf(left.row.spec), left.row.id} <
         Place{job::PriorityOf(right.row.spec), right.row.id};
}

// Of those that are under way and have not begun; nullptr: all have. Some may have ended in this
// Turn, and be about to leave.
Job* LastNotBegun(State& state, const BoundedGroup& group) {
  Job* last = nullptr;
  for (const base::JobId id : group.under_way) {
    const auto job = state.jobs.find(id);
    if (job == state.jobs.end() || job->second.status.attempt > 0) continue;
    if (last == nullptr || IsBefore(*last, job->second)) last = &job->second;
  }
  return last;
}

// Enqueue of the next may admit others of the group as well.
void AdmitNext(Turn& turn, BoundedGroup& group) {
  while (MayAdmit(group) && !group.waiting.empty()) {
    Job& next = turn.state.jobs.at(group.waiting.begin()->job);
    LeaveQueue(turn.state, next);
    Enqueue(turn, next);
    turn.changed.insert(next.row.id);
    turn.placement_may_change = true;
  }
}

void LeaveGroup(Turn& turn, const EndedJob& ended) {
  const auto found = turn.state.bounded_groups.find(ended.group);
  if (found == turn.state.bounded_groups.end()) return;
  BoundedGroup& group = found->second;
  group.under_way.erase(ended.job);
  if (--group.unfinished == 0) {
    turn.state.bounded_groups.erase(found);
    return;
  }
  AdmitNext(turn, group);
}

}  // namespace

void JoinGroup(State& state, base::GroupId group, int64_t max_parallel) {
  if (max_parallel == 0) return;
  BoundedGroup& bounded = state.bounded_groups[group];
  bounded.max_parallel = max_parallel;
  ++bounded.unfinished;
}

Admission WaitForGroup(State& state, Job& job) {
  const auto found = state.bounded_groups.find(job.row.group);
  if (found == state.bounded_groups.end()) return {};
  BoundedGroup& group = found->second;
  if (HasTooManyRanks(state.options.policy, job.row)) {
    group.under_way.erase(job.row.id);  // it began under another policy
    return {};
  }
  if (group.under_way.contains(job.row.id)) return {};
  Job* last = MayAdmit(group) ? nullptr : LastNotBegun(state, group);
  if (!MayAdmit(group) && (last == nullptr || IsBefore(*last, job))) {
    job.lane = Lane::kBounded;
    group.waiting.insert(job.place());
    return {.waits = true};
  }
  group.under_way.insert(job.row.id);
  if (last == nullptr) return {};
  group.under_way.erase(last->row.id);
  LeaveQueue(state, *last);
  Enqueue(state, *last);
  return {.put_back = last->row.id};
}

void StopWaitingForGroup(State& state, Job& job) {
  CHECK(state.bounded_groups.at(job.row.group).waiting.erase(job.place()) == 1)
      << base::ToString(job.row.id);
}

void AdmitFromGroup(Turn& turn, base::GroupId id) {
  const auto found = turn.state.bounded_groups.find(id);
  if (found != turn.state.bounded_groups.end()) AdmitNext(turn, found->second);
}

void AdmitFromGroups(Turn& turn) {
  for (const EndedJob& ended : turn.ended) LeaveGroup(turn, ended);
}

std::string GroupReason(const State& state, const Job& job) {
  const BoundedGroup& group = state.bounded_groups.at(job.row.group);
  constexpr size_t kMost = 4;
  std::string text = "waits for its group, of which at most " + std::to_string(group.max_parallel) +
                     " go at once:";
  size_t named = 0;
  for (const base::JobId other : group.under_way) {
    if (named == kMost) return text + ", …";
    text += (named++ == 0 ? " " : ", ") + base::ToString(other);
  }
  return text;
}

}  // namespace trainctl::core
