// The contract of communicator.h on CPU tensors, through Join.
#include "worker/rank/comm/communicator.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <barrier>
#include <functional>
#include <future>

#include "tests/comm/ranks.h"
#include "worker/rank/comm/host_communicator.h"
#include "worker/rank/comm/shared_shards.h"

namespace trainctl::comm {
namespace {

void RunCommunicators(int64_t world_size, const std::function<void(Communicator&)>& body) {
  RunRanks(world_size, [&](const JoinOptions& options) { body(*Join(options)); });
}

class EveryWorldSize : public ::testing::TestWithParam<int64_t> {};
INSTANTIATE_TEST_SUITE_P(Communicator, EveryWorldSize, ::testing::Values(1, 2, 3, 4));

TEST_P(EveryWorldSize, RunsEveryCollectiveOnTensors) {
  RunCommunicators(GetParam(), [&](Communicator& group) {
    const int64_t n = group.world_size();
    const auto sum = at::full({5, 7}, group.rank() + 1, at::kFloat);
    const auto gathered = at::empty({n, 3}, at::kBFloat16);
    const auto scattered = at::empty({2}, at::kDouble);
    const auto broadcast = at::full({4}, group.rank() == n - 1, at::kBool);
    group.AllReduce(sum);
    group.AllGather(gathered, at::full({3}, group.rank(), at::kBFloat16));
    group.ReduceScatter(scattered, at::arange(2 * n, at::kDouble));
    group.Wait(group.Broadcast(broadcast, n - 1));

    EXPECT_EQ(n, GetParam());
    EXPECT_TRUE(at::equal(sum, at::full({5, 7}, n * (n + 1) / 2, at::kFloat)));
    EXPECT_TRUE(at::equal(gathered, at::arange(n, at::kBFloat16).unsqueeze(1).expand({n, 3})));
    EXPECT_TRUE(at::equal(scattered,
                          at::arange(2 * group.rank(), 2 * group.rank() + 2, at::kDouble).mul(n)));
    EXPECT_TRUE(at::equal(broadcast, at::full({4}, true, at::kBool)));
    group.CheckHealth();
  });
}

TEST_P(EveryWorldSize, GathersWhatTheRanksWroteToTheirShards) {
  RunCommunicators(GetParam(), [](Communicator& group) {
    const int64_t n = group.world_size();
    const auto shards = group.MakeShards({3, 0, 2}, at::kFloat);
    ASSERT_EQ(shards->shards().size(), 3u);
    EXPECT_TRUE(at::equal(shards->shards()[0], at::zeros({3})));
    for (int64_t round = 0; round < 3; ++round) {
      shards->shards()[2].fill_(group.rank() + round);
      shards->Publish();
      const auto whole = at::empty({n, 2}, at::kFloat);
      group.Wait(shards->Gather(2, whole));
      EXPECT_TRUE(
          at::equal(whole, (at::arange(n, at::kFloat) + round).unsqueeze(1).expand({n, 2})));
      const auto met = at::zeros({1}, at::kLong);
      group.Wait(group.AllReduce(met));
    }
  });
}

TEST(Communicator, TicketsMayBeWaitedForInAnyOrderAndMoreThanOnce) {
  RunCommunicators(2, [](Communicator& group) {
    const auto first = at::full({3}, 1, at::kLong);
    const auto second = at::full({3}, 10, at::kLong);
    const auto first_ticket = group.AllReduce(first);
    const auto second_ticket = group.AllReduce(second);
    group.Wait(second_ticket);
    group.Wait(first_ticket);
    group.Wait(first_ticket);
    EXPECT_TRUE(at::equal(first, at::full({3}, 2, at::kLong)));
    EXPECT_TRUE(at::equal(second, at::full({3}, 20, at::kLong)));
  });
}

TEST(Communicator, TakesMoreCollectivesThanItQueues) {
  RunCommunicators(2, [](Communicator& group) {
    const auto sum = at::full({1}, 1, at::kDouble);
    Communicator::Ticket last = 0;
    for (size_t i = 0; i < HostCommunicator::kMaxPending + 100; ++i) {
      last = group.AllReduce(at::full({1000}, static_cast<double>(i), at::kDouble));
    }
    last = group.AllReduce(sum);
    group.Wait(last);
    EXPECT_EQ(sum.item<double>(), 2);
  });
}

TEST(Communicator, ACollectiveKeepsItsTensorsAlive) {
  RunCommunicators(2, [](Communicator& group) {
    const auto gathered = at::zeros({2, 100'000}, at::kFloat);
    const auto ticket = group.AllGather(
        gathered,
        at::full({100'000}, group.rank() + 1.5, at::kFloat));  // nobody else holds the input
    group.Wait(ticket);
    EXPECT_EQ(gathered.sum(at::kDouble).item<double>(), 400'000);
  });
}

TEST(Communicator, ALostPeerIsACommErrorOfWaitAndOfCheckHealth) {
  RunCommunicators(3, [](Communicator& group) {
    if (group.rank() == 1) {
      return;
    }
    const auto tensor = at::zeros({10}, at::kFloat);
    EXPECT_THROW(group.Wait(group.AllReduce(tensor)), CommError);
    EXPECT_THROW(group.CheckHealth(), CommError);
    EXPECT_THROW(group.AllReduce(tensor), CommError);
  });
}

TEST(Communicator, AbortFromAnotherThreadEndsAWait) {
  std::promise<void> rank0_is_done;
  RunCommunicators(2, [&](Communicator& group) {
    if (group.rank() == 1) {
      rank0_is_done.get_future().wait();  // never calls the collective
      return;
    }
    const auto ticket = group.AllReduce(at::zeros({10}, at::kFloat));
    auto waiter =
        std::async(std::launch::async, [&] { EXPECT_THROW(group.Wait(ticket), CommError); });
    group.Abort();
    waiter.get();
    rank0_is_done.set_value();
  });
}

TEST(Communicator, MayBeDestroyedWithCollectivesPending) {
  std::promise<void> rank0_is_gone;
  RunRanks(2, [&](const JoinOptions& options) {
    auto group = Join(options);
    if (options.rank == 1) {
      rank0_is_gone.get_future().wait();  // never calls the collectives
      return;
    }
    group->AllReduce(at::zeros({10}, at::kFloat));
    group->AllReduce(at::zeros({10}, at::kFloat));
    group.reset();
    rank0_is_gone.set_value();
  });
}

TEST(Communicator, AWorldOfOneNeedsNoRendezvous) {
  const auto group = Join({});  // neither publish nor await_blob
  EXPECT_EQ(group->world_size(), 1);
  EXPECT_EQ(group->rank(), 0);
}

}  // namespace
}  // namespace trainctl::comm
