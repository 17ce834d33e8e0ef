#include "server/core/queue.h"

#include <gtest/gtest.h>

#include <vector>

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
  for (const auto& [place, demand] : queue.heads()) jobs.push_back(place.job.value);
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
  EXPECT_TRUE(queue.heads().empty());
  EXPECT_TRUE(queue.lanes().empty());
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
  queue.Reshare([](const Demand&, base::JobId job) { return 10 - job.value; });
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{4, 3}));
  for (const auto& [demand, lane] : queue.lanes())
    EXPECT_EQ(lane.FirstWithin(60), *lane.jobs.begin());
  for (int64_t job = 1; job <= 4; ++job)
    queue.Remove({.devices = 1 + job % 2}, {50, {job}, 10 - job}, 60);
  EXPECT_EQ(queue.size(), 0u);
}

TEST(Queue, OfANewShareOfAWholeLaneComesAnotherPlaceAmongTheLanes) {
  Queue queue;
  for (int64_t job = 1; job <= 4; ++job) queue.Add({.devices = 1 + job % 2}, {50, {job}, 3}, 60);
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{1, 2}));
  queue.Reshare([](const Demand& lane, base::JobId) { return lane.devices == 1 ? 2 : 5; });
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{2, 1}));
  for (int64_t job = 1; job <= 4; ++job)
    queue.Remove({.devices = 1 + job % 2}, {50, {job}, job % 2 == 0 ? 2 : 5}, 60);
  EXPECT_EQ(queue.size(), 0u);
}

TEST(Queue, AJobThatComesBackTakesItsOldPlace) {
  Queue queue;
  Add(queue, 1, 50, 2);
  Add(queue, 1, 50, 1);
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{1}));
}

}  // namespace
}  // namespace trainctl::core
