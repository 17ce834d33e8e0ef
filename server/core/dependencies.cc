#include "server/core/dependencies.h"

#include <optional>
#include <utility>

#include "server/core/gang.h"
#include "server/core/inspect.h"

namespace trainctl::core {
namespace {

void Tell(Turn& turn, Job& job, const EndedJob& ended) {
  const std::string name = base::ToString(ended.job);
  const job::After after = job.follows.at(ended.job);
  if (after == job::After::kOk && !ended.ok) {
    LeaveQueue(turn.state, job);
    return Finish(turn, job,
                  {job::Outcome::kCancelled, "cancelled: it was to start after the success of " +
                                                 name + ", which ended as " +
                                                 std::string(job::Name(ended.outcome))});
  }
  Say(turn, job.row.id, name + ", which it follows, has ended");
  turn.changed.insert(job.row.id);
  job.follows.erase(ended.job);
  if (!job.follows.empty()) return;
  LeaveQueue(turn.state, job);
  Enqueue(turn, job);
  turn.placement_may_change = true;
}

}  // namespace

bool Follow(State& state, Job& job) {
  job.follows.clear();
  for (const auto& [name, after] : job.row.spec.resources.after) {
    const std::optional<base::JobId> id = base::ParseJobId(name);
    if (id && *id < job.row.id && state.jobs.contains(*id)) job.follows[*id] = after;
  }
  if (job.follows.empty()) return false;
  job.lane = Lane::kFollowing;
  state.following.insert(job.place());
  for (const auto& [id, after] : job.follows) state.followers[id].insert(job.row.id);
  return true;
}

void StopFollowing(State& state, Job& job) {
  state.following.erase(job.place());
  for (const auto& [id, after] : std::exchange(job.follows, {})) {
    const auto found = state.followers.find(id);
    if (found == state.followers.end()) continue;
    found->second.erase(job.row.id);
    if (found->second.empty()) state.followers.erase(found);
  }
}

// Who is told may end too: its followers are told behind it.
void TellFollowers(Turn& turn) {
  for (size_t next = 0; next < turn.ended.size(); ++next) {
    const EndedJob ended = turn.ended[next];
    const auto told = turn.state.followers.extract(ended.job);
    if (told.empty()) continue;
    for (const base::JobId follower : told.mapped())
      Tell(turn, turn.state.jobs.at(follower), ended);
  }
}

std::string FollowingReason(const State& state, const Job& job) {
  std::string text;
  for (const auto& [id, after] : job.follows) {
    text += (text.empty() ? "waits until " : ", and ") + base::ToString(id) + ", which is " +
            std::string(job::Name(state.jobs.at(id).status.state)) +
            (after == job::After::kOk ? ", has succeeded" : ", has ended");
  }
  return text;
}

}  // namespace trainctl::core
