// On a host with GPUs: the NCCL communicator, one process a GPU as in a job. Checked are every
// collective against its exact result, and one that overlaps what the caller computes; how long a
// caller is held up by one; peers that never come: to a collective, to the first one, and to the
// join. Prints all-reduce bandwidth. Exit status 77 with fewer than two GPUs, 1 if a check failed.
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <cuda_runtime_api.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <vector>

#include "tests/gpu/kernel_compare.h"
#include "worker/rank/comm/communicator.h"
#include "worker/rank/comm/shared_shards.h"

namespace trainctl::gpu {
namespace {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

at::TensorOptions On(at::ScalarType type) {
  return at::TensorOptions().device(at::kCUDA).dtype(type);
}

// What rank 0 writes, each other rank reads: a pipe a rank.
class Pipes {
 public:
  explicit Pipes(int ranks) : ends_(static_cast<size_t>(ranks)) {
    for (auto& ends : ends_) {
      if (pipe(ends.data()) != 0) {
        std::abort();
      }
    }
  }
  void Publish(const std::string& blob) const {
    for (const auto& ends : ends_) {
      if (write(ends[1], blob.data(), blob.size()) != static_cast<ssize_t>(blob.size())) {
        std::abort();
      }
    }
  }
  std::string Await(int rank) const {
    std::array<char, 256> blob;  // NCCL's unique id in hex: one blob, where two lie in the pipe
    const ssize_t size = read(ends_[static_cast<size_t>(rank)][0], blob.data(), blob.size());
    return {blob.data(), size > 0 ? static_cast<size_t>(size) : 0};
  }

 private:
  std::vector<std::array<int, 2>> ends_;
};

void CheckCollectives(Checks& checks, comm::Communicator& group, at::ScalarType type) {
  const int64_t n = group.world_size(), rank = group.rank();
  const std::string name = c10::toString(type);
  const at::Tensor sum = at::full({1'000'003}, rank + 1, On(type)),
                   gathered = at::zeros({n, 1001}, On(type)),
                   own = at::full({1001}, rank, On(type));
  const at::Tensor parts = at::arange(7 * n, On(at::kLong)).to(type);
  const at::Tensor part = at::zeros({7}, On(type)), broadcast = at::full({33}, rank, On(type));
  const auto first = group.AllReduce(sum);
  group.AllGather(gathered, own);
  group.ReduceScatter(part, parts);
  group.Wait(group.Broadcast(broadcast, n - 1));
  group.Wait(first);
  checks.Equal(name + " all-reduce", sum, at::full({1'000'003}, n * (n + 1) / 2, On(type)));
  checks.Equal(name + " all-gather", gathered,
               at::arange(n, On(at::kLong)).unsqueeze(1).expand({n, 1001}).to(type));
  checks.Equal(name + " reduce-scatter", part,
               (at::arange(7 * rank, 7 * rank + 7, On(at::kLong)) * n).to(type));
  checks.Equal(name + " broadcast", broadcast, at::full({33}, n - 1, On(type)));
}

// More collectives than the communicator keeps events of, while the caller's stream goes on. Each
// is over what the one before left.
void CheckOrder(Checks& checks, comm::Communicator& group) {
  const at::Tensor sum = at::full({1 << 20}, 1.0, On(at::kDouble));
  double want = 1;
  for (int i = 0; i < 200; ++i) {
    group.Wait(group.AllReduce(sum));
    sum.div_(static_cast<double>(group.world_size())).add_(1.0);
    want += 1;
  }
  checks.Equal("200 all-reduces in order", sum, at::full({1 << 20}, want, On(at::kDouble)));
  group.CheckHealth();
}

// Each rank reads what the others wrote last, again and again; an all-reduce tells that all have.
void CheckShards(Checks& checks, comm::Communicator& group) {
  const int64_t n = group.world_size();
  const auto shards = group.MakeShards({1 << 20, 0, 4096}, On(at::kBFloat16));
  const at::Tensor all = at::empty({n, 1 << 20}, On(at::kBFloat16)),
                   small = at::empty({n, 4096}, On(at::kBFloat16)),
                   met = at::zeros({1}, On(at::kLong));
  const at::Tensor ranks = at::arange(n, On(at::kLong)).unsqueeze(1);
  bool right = true;
  for (int64_t round = 0; round < 50; ++round) {
    for (const at::Tensor& shard : shards->shards()) shard.fill_(group.rank() + round);
    shards->Publish();
    const auto first = shards->Gather(0, all);
    group.Wait(shards->Gather(2, small));
    group.Wait(first);
    right = right && at::equal(all, (ranks + round).expand({n, 1 << 20}).to(at::kBFloat16)) &&
            at::equal(small, (ranks + round).expand({n, 4096}).to(at::kBFloat16));
    group.Wait(group.AllReduce(met));
  }
  checks.True("shards of 50 rounds are those written last", right);
}

double MillisecondsOf(comm::Communicator& group,
                      const std::function<comm::Communicator::Ticket()>& gather) {
  constexpr int kGathers = 20;
  for (int i = 0; i < 3; ++i) group.Wait(gather());
  cudaDeviceSynchronize();
  const auto begin = Clock::now();
  for (int i = 0; i < kGathers; ++i) group.Wait(gather());
  cudaDeviceSynchronize();
  return SecondsSince(begin) / kGathers * 1e3;
}

void TimeGather(comm::Communicator& group, int64_t mebibytes) {
  const int64_t numel = (mebibytes << 19) / group.world_size();
  const auto shards = group.MakeShards({numel}, On(at::kBFloat16));
  const at::Tensor whole = at::empty({numel * group.world_size()}, On(at::kBFloat16));
  shards->Publish();
  const double by_nccl =
      MillisecondsOf(group, [&] { return group.AllGather(whole, shards->shards()[0]); });
  const double of_shards = MillisecondsOf(group, [&] { return shards->Gather(0, whole); });
  if (group.rank() == 0)
    std::printf("a gather of %4ld MiB: %.3f ms by NCCL, %.3f ms of shared shards (%s)\n", mebibytes,
                by_nccl, of_shards,
                dynamic_cast<comm::CollectiveShards*>(shards.get()) ? "by NCCL" : "by copies");
}

void TimeAllReduce(comm::Communicator& group, int64_t mebibytes) {
  const at::Tensor data = at::zeros({mebibytes << 19}, On(at::kBFloat16));
  group.Wait(group.AllReduce(data));
  cudaDeviceSynchronize();
  const auto begin = Clock::now();
  for (int i = 0; i < 10; ++i) {
    group.Wait(group.AllReduce(data));
  }
  cudaDeviceSynchronize();
  const double seconds = SecondsSince(begin) / 10;
  const double bus =
      2.0 * static_cast<double>(group.world_size() - 1) / static_cast<double>(group.world_size());
  if (group.rank() == 0) {
    std::printf("all-reduce of %4ld MiB: %.0f GB/s on the bus\n", mebibytes,
                static_cast<double>(data.nbytes()) * bus / seconds * 1e-9);
  }
}

// Small collectives are issued in a few microseconds each: their callers are the training loop.
void CheckIssueTime(Checks& checks, comm::Communicator& group) {
  constexpr int kCollectives = 200;
  const at::Tensor data = at::zeros({1024}, On(at::kFloat));
  group.Wait(group.AllReduce(data));
  cudaDeviceSynchronize();
  const auto begin = Clock::now();
  for (int i = 0; i < kCollectives; ++i) {
    group.Wait(group.AllReduce(data));
  }
  const double microseconds = SecondsSince(begin) / kCollectives * 1e6;
  cudaDeviceSynchronize();
  if (group.rank() == 0) {
    std::printf("a small all-reduce holds its caller up for %.1f us\n", microseconds);
  }
  checks.True("a small all-reduce holds its caller up for less than 200 us", microseconds < 200);
}

bool AllReduceThrows(comm::Communicator& group) {
  try {
    group.AllReduce(at::zeros({1 << 20}, On(at::kFloat)));
  } catch (const comm::CommError&) {
    return true;
  }
  return false;
}

// Rank 0 alone calls a collective (which may throw at once, where a peer gave up before), and gives
// up.
void CheckAbort(Checks& checks, comm::Communicator& group) {
  if (group.rank() == 0) {
    AllReduceThrows(group);
  }
  const auto begin = Clock::now();
  group.Abort();
  checks.True("an abort returns within six seconds", SecondsSince(begin) < 6);
  checks.True("a collective after an abort throws", AllReduceThrows(group));
}

struct Gang {
  int rank, ranks;
  const Pipes& pipes;

  std::unique_ptr<comm::Communicator> Join(double timeout_seconds) const {
    return comm::Join({.cuda = true,
                       .rank = rank,
                       .world_size = ranks,
                       .timeout_seconds = timeout_seconds,
                       .publish = [&](const std::string& blob) { pipes.Publish(blob); },
                       .await_blob = [&] { return pipes.Await(rank); }});
  }
};

// A group's first collective connects its ranks, and rank 0 alone calls it: that throws or is left
// on the stream, and then an abort ends it.
void CheckFirstCollectiveAlone(Checks& checks, const Gang& gang) {
  const auto group = gang.Join(/*timeout_seconds=*/4);
  if (gang.rank != 0) {
    gang.pipes.Await(gang.rank);
    return group->Abort();
  }
  const auto begin = Clock::now();
  const bool thrown = AllReduceThrows(*group);
  group->Abort();
  std::printf("the first collective without its peers %s; it and an abort took %.1f s\n",
              thrown ? "threw" : "was left on the stream", SecondsSince(begin));
  checks.True("the first collective without its peers ends in time", SecondsSince(begin) < 15);
  checks.True("the stream is free after the abort", cudaDeviceSynchronize() == cudaSuccess);
  gang.pipes.Publish("done");
}

void CheckJoinAlone(Checks& checks, const Gang& gang) {
  if (gang.rank != 0) {
    gang.pipes.Await(gang.rank);
    return;
  }
  const auto begin = Clock::now();
  std::string why;
  try {
    gang.Join(/*timeout_seconds=*/4);
  } catch (const comm::CommError& error) {
    why = error.what();
  }
  std::printf("a join without peers: %s (%.1f s)\n", why.c_str(), SecondsSince(begin));
  checks.True("a join without peers says so", why.find("not all ranks came") != std::string::npos);
  checks.True("a join without peers ends in time", SecondsSince(begin) < 12);
}

int RunRank(int rank, int ranks, const Pipes& pipes) {
  cudaSetDevice(rank);
  const Gang gang{rank, ranks, pipes};
  const auto group = gang.Join(/*timeout_seconds=*/120);
  Checks checks;
  for (const at::ScalarType type : {at::kBFloat16, at::kFloat, at::kDouble, at::kLong}) {
    CheckCollectives(checks, *group, type);
  }
  CheckOrder(checks, *group);
  CheckShards(checks, *group);
  for (const int64_t mebibytes : {16, 400, 1600}) {
    TimeAllReduce(*group, mebibytes);
  }
  for (const int64_t mebibytes : {1, 16, 64, 256, 1024}) TimeGather(*group, mebibytes);
  CheckIssueTime(checks, *group);
  CheckAbort(checks, *group);
  CheckFirstCollectiveAlone(checks, gang);
  CheckJoinAlone(checks, gang);
  std::printf("rank %d: %d checks, %d failed\n", rank, checks.done(), checks.failed());
  return checks.failed() == 0 ? 0 : 1;
}

// Counted in a child: CUDA must not be touched before a fork.
int CountDevices() {
  const pid_t child = fork();
  if (child == 0) {
    int devices = 0;
    _exit(cudaGetDeviceCount(&devices) == cudaSuccess ? devices : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 0;
}

int Run() {
  const int ranks = CountDevices();
  if (ranks < 2) {
    std::printf("%d GPUs: nothing was checked\n", ranks);
    return 77;
  }
  const Pipes pipes(ranks);
  for (int rank = 0; rank < ranks; ++rank) {
    if (fork() == 0) {
      const int result = RunRank(rank, ranks, pipes);
      std::fflush(stdout);
      _exit(result);  // no destructors of CUDA's after an abort
    }
  }
  bool all_well = true;
  for (int rank = 0; rank < ranks; ++rank) {
    int status = 0;
    wait(&status);
    all_well = all_well && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return all_well ? 0 : 1;
}

}  // namespace
}  // namespace trainctl::gpu

int main() { return trainctl::gpu::Run(); }
