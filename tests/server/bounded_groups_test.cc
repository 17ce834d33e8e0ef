#include "server/core/bounded_groups.h"

#include <gtest/gtest.h>

#include "server/core/inspect.h"

namespace trainctl::core {
namespace {

TEST(BoundedGroups, WatchersOfAJobThatWaitsAgainAreTold) {
  constexpr base::GroupId kGroup{1};
  State state;
  const Now now{};
  Turn turn{.state = state, .now = now};
  const auto add = [&](int64_t id) -> Job& {
    Job& job = state.jobs[{id}];
    job.row = {.id = {id}, .group = kGroup, .force = true};
    JoinGroup(state, kGroup, 1);
    Enqueue(turn, job);
    return job;
  };
  const Job& later = add(2);
  EXPECT_NE(later.lane, Lane::kBounded);
  EXPECT_NE(add(1).lane, Lane::kBounded);
  EXPECT_EQ(later.lane, Lane::kBounded);
  EXPECT_EQ(turn.changed, std::set<base::JobId>{{2}});
}

}  // namespace
}  // namespace trainctl::core
