#include "server/core/queue.h"

#include <gtest/gtest.h>

#include <vector>

namespace trainctl::core {
namespace {

job::JobSpec Spec(int64_t devices, int64_t priority) {
  job::JobSpec spec;
  spec.devices = devices;
  spec.resources.priority = priority;
  return spec;
}

std::vector<int64_t> Heads(const Queue& queue) {
  std::vector<int64_t> jobs;
  for (const auto& [place, demand] : queue.heads()) jobs.push_back(place.job.value);
  return jobs;
}

TEST(Queue, ShowsTheFirstJobOfEachDemandInOrderOfPriorityThenAge) {
  Queue queue;
  queue.Add(Spec(1, 50), {1});
  queue.Add(Spec(4, 50), {2});
  queue.Add(Spec(1, 90), {3});
  queue.Add(Spec(2, 90), {4});
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{3, 4, 2}));
  EXPECT_EQ(queue.size(), 4u);
}

TEST(Queue, TheNextJobOfALaneMovesUpWhenTheFirstLeaves) {
  Queue queue;
  queue.Add(Spec(1, 50), {1});
  queue.Add(Spec(1, 50), {2});
  queue.Add(Spec(2, 50), {3});
  queue.Remove(Spec(1, 50), {1});
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{2, 3}));
}

TEST(Queue, AJobThatLeavesFromTheMiddleChangesNoHead) {
  Queue queue;
  for (int64_t job = 1; job <= 3; ++job) queue.Add(Spec(1, 50), {job});
  queue.Remove(Spec(1, 50), {2});
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{1}));
  queue.Remove(Spec(1, 50), {1});
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{3}));
  queue.Remove(Spec(1, 50), {3});
  EXPECT_TRUE(queue.heads().empty());
  EXPECT_TRUE(queue.lanes().empty());
}

TEST(Queue, AJobThatComesBackTakesItsOldPlace) {
  Queue queue;
  queue.Add(Spec(1, 50), {2});
  queue.Add(Spec(1, 50), {1});
  EXPECT_EQ(Heads(queue), (std::vector<int64_t>{1}));
}

}  // namespace
}  // namespace trainctl::core
