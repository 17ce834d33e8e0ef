#include "server/core/queue.h"

#include <gtest/gtest.h>

#include <iterator>
#include <optional>
#include <vector>

#include "server/core/walk.h"

namespace trainctl::core {
namespace {

void Add(Queue& queue, int64_t devices, int64_t priority, int64_t job) {
  queue.Add({.devices = devices}, {priority, {job}});
}

void Remove(Queue& queue, int64_t devices, int64_t priority, int64_t job) {
  queue.Remove({.devices = devices}, {priority, {job}});
}

std::vector<int64_t> Heads(const Queue& queue) {
  std::vector<int64_t> jobs;
  Walk walk(queue);
  while (const std::optional<Walk::Stop> stop = walk.Next()) {
    jobs.push_back(stop->head->first.job.value);
    const auto next = std::next(stop->head);
    if (next != stop->kind->heads.end()) walk.StopAt(*stop->kind, next);
  }
  return jobs;
}

TEST(Queue, ShowsTheFirstJobOfEachDemandInOrderOfPriorityThenAge) {
  Queue queue;
  Add(queue, 1, 50, 1);
  Add(queue, 4, 50, 2);
  Add(queue, 1, 90, 3);
  Add(queue, 2, 90, 4);
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{3, 4, 2}));
  EXPECT_EQ(queue.size(), 4u);
}

TEST(Queue, TheNextJobOfALaneMovesUpWhenTheFirstLeaves) {
  Queue queue;
  Add(queue, 1, 50, 1);
  Add(queue, 1, 50, 2);
  Add(queue, 2, 50, 3);
  Remove(queue, 1, 50, 1);
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{2, 3}));
}

TEST(Queue, AJobThatLeavesFromTheMiddleChangesNoHead) {
  Queue queue;
  for (int64_t job = 1; job <= 3; ++job) Add(queue, 1, 50, job);
  Remove(queue, 1, 50, 2);
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{1}));
  Remove(queue, 1, 50, 1);
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{3}));
  Remove(queue, 1, 50, 3);
  EXPECT_TRUE(queue.lanes().empty());
  EXPECT_TRUE(queue.kinds().empty());
  EXPECT_TRUE(queue.kinds_in_order().empty());
}

TEST(Queue, ALaneFindsTheFirstJobThatIsShortEnough) {
  Queue queue;
  queue.Add({}, {50, {1}});
  queue.Add({}, {50, {2}}, 600);
  queue.Add({}, {50, {3}}, 60);
  queue.Add({}, {50, {4}}, 60);
  const auto within = [&](int64_t micros) {
    const auto place = queue.lanes().begin()->second.FirstWithin(micros);
    return place ? place->job.value : 0;
  };
  EXPECT_EQ(within(59), 0);
  EXPECT_EQ(within(60), 3);
  EXPECT_EQ(within(600), 2);
  queue.Remove({}, {50, {3}}, 60);
  EXPECT_EQ(within(60), 4);
}

TEST(Queue, KnowsTheShortestLengthOfThoseThatWantFewDevices) {
  Queue queue;
  EXPECT_EQ(queue.ShortestOf(8), std::nullopt);
  queue.Add({.devices = 4}, {50, {1}}, 60);
  queue.Add({.devices = 1}, {50, {2}}, 600);
  queue.Add({.devices = 1}, {50, {3}}, 600);
  queue.Add({.devices = 1}, {50, {4}});
  EXPECT_EQ(queue.ShortestOf(0), std::nullopt);
  EXPECT_EQ(queue.ShortestOf(3), 600);
  EXPECT_EQ(queue.ShortestOf(4), 60);
  queue.Remove({.devices = 4}, {50, {1}}, 60);
  queue.Remove({.devices = 1}, {50, {2}}, 600);
  EXPECT_EQ(queue.ShortestOf(4), 600);
  queue.Remove({.devices = 1}, {50, {3}}, 600);
  EXPECT_EQ(queue.ShortestOf(4), std::nullopt);
}

TEST(Queue, OfNewSharesComesANewOrderInEachLane) {
  Queue queue;
  for (int64_t job = 1; job <= 4; ++job) queue.Add({.devices = 1 + job % 2}, {50, {job}}, 60);
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{1, 2}));
  queue.Reshare([](const std::string&) { return 0; },
                [](base::JobId job) { return 10 - job.value; });
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{4, 3}));
  for (const auto& [demand, lane] : queue.lanes())
    EXPECT_EQ(lane.FirstWithin(60), lane.jobs.begin()->first);
  for (int64_t job = 1; job <= 4; ++job)
    queue.Remove({.devices = 1 + job % 2}, {50, {job}, 10 - job}, 60);
  EXPECT_EQ(queue.size(), 0u);
}

Demand Of(const std::string& user, int64_t devices = 1) {
  return {.devices = devices, .user = user};
}

TEST(Queue, LanesOfOtherOwnersAreOfOneKindAndInTheQueuesOrder) {
  Queue queue;
  for (int64_t job = 1; job <= 8; ++job)
    queue.Add(Of(job % 2 == 0 ? "ann" : "bob", job <= 4 ? 1 : 2), {50, {job}});
  EXPECT_EQ(queue.lanes().size(), 4u);
  EXPECT_EQ(queue.kinds().size(), 2u);
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{1, 2, 5, 6}));
  queue.Remove(Of("bob"), {50, {1}});
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{2, 3, 5, 6}));
}

TEST(Queue, OfAUsersNewShareComeOtherPlacesOfTheirLanesButNotOfWhoIsLifted) {
  Queue queue;
  for (int64_t job = 1; job <= 4; ++job)
    queue.Add(Of(job % 2 == 0 ? "ann" : "bob"), {50, {job}, 3}, 60);
  queue.Add(Of("bob", 2), {50, {5}, kLifted}, 60);
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{5, 1, 2}));
  const auto share_of = [](const std::string& user) { return user == "ann" ? 2 : 5; };
  queue.Reshare(share_of, [](base::JobId) { return 0; });
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{5, 2, 1}));
  EXPECT_EQ(queue.lanes().at(Of("ann")).FirstWithin(60), (Place{50, {2}, 2}));
  for (int64_t job = 1; job <= 4; ++job)
    queue.Remove(Of(job % 2 == 0 ? "ann" : "bob"), {50, {job}, job % 2 == 0 ? 2 : 5}, 60);
  queue.Remove(Of("bob", 2), {50, {5}, kLifted}, 60);
  EXPECT_EQ(queue.size(), 0u);
}

TEST(Queue, KindsHaveNumbersOfTheirOwnAndThoseThatAreGoneLeaveThem) {
  Queue queue;
  queue.Add(Of("ann", 1), {50, {1}});
  queue.Add(Of("bob", 1), {50, {2}});
  queue.Add(Of("ann", 2), {50, {3}});
  const auto number = [&](int64_t devices) { return queue.kinds().at(Of("", devices)).number; };
  EXPECT_NE(number(1), number(2));
  const size_t left = number(2);
  queue.Remove(Of("ann", 2), {50, {3}});
  queue.Add(Of("bob", 4), {50, {4}});
  EXPECT_EQ(number(4), left);
  EXPECT_EQ(queue.kind_numbers(), 2u);
  queue.Add(Of("bob", 8), {50, {5}});
  EXPECT_EQ(number(8), 2u);
  EXPECT_EQ(queue.kind_numbers(), 3u);
}

TEST(Queue, AJobThatComesBackTakesItsOldPlace) {
  Queue queue;
  Add(queue, 1, 50, 2);
  Add(queue, 1, 50, 1);
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{1}));
}

}  // namespace
}  // namespace trainctl::core
