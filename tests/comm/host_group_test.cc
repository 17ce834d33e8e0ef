#include "worker/rank/comm/host_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <barrier>
#include <bit>
#include <future>
#include <optional>
#include <vector>

#include "tests/comm/ranks.h"
#include "worker/rank/comm/comm_error.h"
#include "worker/rank/comm/host_rendezvous.h"

namespace trainctl::comm {
namespace {

using ::testing::HasSubstr;

template <class T>
std::byte* Data(std::vector<T>& values) {
  return reinterpret_cast<std::byte*>(values.data());
}

void RunGroup(int64_t world_size, const std::function<void(HostGroup&)>& body) {
  RunRanks(world_size, [&](const JoinOptions& options) {
    HostGroup group(options.rank, JoinMesh(options));
    body(group);
  });
}

// The text of the CommError that the call throws; "" where it throws none.
std::string ErrorOf(const std::function<void()>& call) {
  try {
    call();
  } catch (const CommError& error) {
    return error.what();
  }
  return "";
}

// A value of rank and position whose sums differ for each order of addition.
float Value(int64_t rank, size_t i) {
  const float magnitude = rank % 2 == 0 ? 1.0f : 1e-4f;
  return (1.0f + static_cast<float>(i % 977) * 0.001f) * magnitude * static_cast<float>(rank + 1);
}

float SumInOrder(int64_t world_size, size_t i) {
  float sum = Value(0, i);
  for (int64_t rank = 1; rank < world_size; ++rank) {
    sum += Value(rank, i);
  }
  return sum;
}

std::vector<float> ValuesOf(int64_t rank, size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = Value(rank, i);
  }
  return values;
}

// One world size, and one count: none, fewer than ranks, odd, and more than one chunk a shard.
class Collectives : public ::testing::TestWithParam<std::tuple<int64_t, size_t>> {
 protected:
  int64_t world_size() const { return std::get<0>(GetParam()); }
  size_t count() const { return std::get<1>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Host, Collectives,
                         ::testing::Combine(::testing::Values<int64_t>(1, 2, 3, 4),
                                            ::testing::Values<size_t>(0, 1, 3, 1001, 600'007)),
                         [](const auto& parameters) {
                           return std::to_string(std::get<0>(parameters.param)) + "RanksOf" +
                                  std::to_string(std::get<1>(parameters.param));
                         });

TEST_P(Collectives, AllReduceSumsInRankOrderOnEveryRank) {
  RunGroup(world_size(), [&](HostGroup& group) {
    auto values = ValuesOf(group.rank(), count());
    group.AllReduce(Data(values), count(), Element::kF32);
    size_t wrong = 0;
    for (size_t i = 0; i < count(); ++i) {
      wrong +=
          std::bit_cast<uint32_t>(values[i]) != std::bit_cast<uint32_t>(SumInOrder(world_size(), i))
              ? 1
              : 0;
    }
    EXPECT_EQ(wrong, 0u) << "on rank " << group.rank();
  });
}

TEST_P(Collectives, ReduceScatterGivesEachRankItsPart) {
  RunGroup(world_size(), [&](HostGroup& group) {
    auto input = ValuesOf(group.rank(), count() * static_cast<size_t>(world_size()));
    std::vector<float> output(count(), -1);
    group.ReduceScatter(Data(output), Data(input), count(), Element::kF32);
    size_t wrong = 0;
    for (size_t i = 0; i < count(); ++i) {
      wrong +=
          output[i] != SumInOrder(world_size(), static_cast<size_t>(group.rank()) * count() + i)
              ? 1
              : 0;
    }
    EXPECT_EQ(wrong, 0u) << "on rank " << group.rank();
  });
}

TEST_P(Collectives, AllGatherPutsTheRanksInOrder) {
  RunGroup(world_size(), [&](HostGroup& group) {
    auto input = ValuesOf(group.rank(), count());
    std::vector<float> output(count() * static_cast<size_t>(world_size()), -1);
    group.AllGather(Data(output), Data(input), count() * sizeof(float));
    size_t wrong = 0;
    for (size_t i = 0; i < output.size(); ++i) {
      wrong += output[i] != Value(static_cast<int64_t>(i / count()), i % count()) ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0u) << "on rank " << group.rank();
  });
}

TEST_P(Collectives, BroadcastGivesTheRootsDataToAll) {
  RunGroup(world_size(), [&](HostGroup& group) {
    const int64_t root = world_size() - 1;
    auto values = ValuesOf(group.rank(), count());
    group.Broadcast(Data(values), count() * sizeof(float), root);
    EXPECT_TRUE(values == ValuesOf(root, count())) << "on rank " << group.rank();
  });
}

TEST(HostGroup, ReducesAndGathersInPlace) {
  RunGroup(3, [](HostGroup& group) {
    const auto own = static_cast<size_t>(group.rank()) * 100;
    auto values = ValuesOf(group.rank(), 300);
    group.ReduceScatter(Data(values) + own * sizeof(float), Data(values), 100, Element::kF32);
    group.AllGather(Data(values), Data(values) + own * sizeof(float), 100 * sizeof(float));
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], SumInOrder(3, i)) << i;
    }
  });
}

TEST(HostGroup, SumsEveryElementType) {
  RunGroup(2, [](HostGroup& group) {
    const int64_t rank = group.rank();
    std::vector<int64_t> integers = {rank + 1, -(int64_t{1} << 40) * rank};
    std::vector<double> doubles = {1e16, rank == 0 ? 2.0 : -1e16};
    std::vector<uint16_t> bf16s = {0x3f80};  // 1.0
    group.AllReduce(Data(integers), 2, Element::kI64);
    group.AllReduce(Data(doubles), 2, Element::kF64);
    group.AllReduce(Data(bf16s), 1, Element::kBf16);
    EXPECT_EQ(integers, (std::vector<int64_t>{3, -(int64_t{1} << 40)}));
    EXPECT_EQ(doubles, (std::vector<double>{2e16, 2.0 - 1e16}));
    EXPECT_EQ(bf16s, std::vector<uint16_t>{0x4000});  // 2.0
  });
}

TEST(HostGroup, RanksThatCallDifferentCollectivesAllLearnWhatTheOtherCalled) {
  RunGroup(2, [](HostGroup& group) {
    std::vector<float> values(8);
    const std::string error = ErrorOf([&] {
      group.rank() == 0 ? group.AllReduce(Data(values), 8, Element::kF32)
                        : group.Broadcast(Data(values), 4, 1);
    });
    EXPECT_THAT(error, HasSubstr("all-reduce of 32 bytes (fp32"));
    EXPECT_THAT(error, HasSubstr("broadcast of 4 bytes"));
    EXPECT_THAT(error, HasSubstr("disagree"));
  });
}

TEST(HostGroup, AGroupThatFailedOnceFailsForEver) {
  RunGroup(2, [](HostGroup& group) {
    std::vector<float> values(8);
    EXPECT_NE(
        ErrorOf([&] { group.AllReduce(Data(values), group.rank() == 0 ? 8 : 4, Element::kF32); }),
        "");
    EXPECT_THAT(ErrorOf([&] { group.AllReduce(Data(values), 8, Element::kF32); }),
                HasSubstr("failed before"));
  });
}

TEST(HostGroup, ARankThatLeavesIsAnErrorForAllOthers) {
  RunGroup(4, [](HostGroup& group) {
    std::vector<float> values(1'000'000);
    if (group.rank() != 2) {
      EXPECT_THAT(ErrorOf([&] { group.AllReduce(Data(values), values.size(), Element::kF32); }),
                  HasSubstr("lost rank"));
    }
  });
}

TEST(HostGroup, ARankMayLeaveAfterTheLastCollectiveWhileOthersAreStillInIt) {
  for (int repetition = 0; repetition < 50; ++repetition) {
    RunGroup(4, [](HostGroup& group) {
      auto values = ValuesOf(group.rank(), 50'000);
      group.AllReduce(Data(values), values.size(), Element::kF32);
      EXPECT_EQ(values[49'999], SumInOrder(4, 49'999));
    });
  }
}

TEST(HostGroup, AbortFromAnotherThreadEndsACollectiveThatWaits) {
  std::barrier both_joined(2);
  std::promise<void> rank0_is_done;
  RunGroup(2, [&](HostGroup& group) {
    both_joined.arrive_and_wait();
    if (group.rank() == 1) {
      rank0_is_done.get_future().wait();  // never calls the collective
      return;
    }
    std::vector<float> values(8);
    auto error = std::async(std::launch::async, [&] {
      return ErrorOf([&] { group.AllReduce(Data(values), 8, Element::kF32); });
    });
    group.Abort();
    EXPECT_THAT(error.get(), HasSubstr("aborted"));
    rank0_is_done.set_value();
  });
}

// A pipe that carries the blob into a forked process.
struct BlobPipe {
  BlobPipe() { EXPECT_EQ(pipe(ends.data()), 0); }
  ~BlobPipe() {
    close(ends[0]);
    close(ends[1]);
  }
  void Write(const std::string& blob) {
    EXPECT_EQ(write(ends[1], blob.data(), blob.size()), static_cast<ssize_t>(blob.size()));
  }
  std::string Read() {
    std::array<char, 256> text;
    const ssize_t size = read(ends[0], text.data(), text.size());
    return std::string(text.data(), size > 0 ? static_cast<size_t>(size) : 0);
  }
  std::array<int, 2> ends{};
};

TEST(HostGroup, AKilledProcessIsAnErrorAtOnce) {
  BlobPipe blob;
  JoinOptions options;
  options.world_size = 2;
  options.publish = [&](const std::string& text) { blob.Write(text); };
  options.await_blob = [&] { return blob.Read(); };
  const pid_t child = fork();
  if (child == 0) {
    options.rank = 1;
    const HostGroup group(1, JoinMesh(options));
    pause();
    _exit(0);
  }
  HostGroup group(0, JoinMesh(options));
  std::vector<float> values(8);
  auto error = std::async(std::launch::async, [&] {
    return ErrorOf([&] { group.AllReduce(Data(values), 8, Element::kF32); });
  });
  kill(child, SIGKILL);
  EXPECT_THAT(error.get(), HasSubstr("lost rank 1"));
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace trainctl::comm
