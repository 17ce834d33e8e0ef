// The CPU's AdamW over large arrays: parameters a second and bytes a second (28 a parameter: master
// and two moments in and out, bf16 gradient in, bf16 parameter out), by instruction set and number
// of threads.
//
// cpu_adam_bench [MILLIONS OF PARAMETERS] [THREADS…]      (64; 1, 2, 4 … all CPUs that this process
// may use)
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "worker/rank/optim/adam_kernel.h"
#include "worker/rank/optim/allowed_cpus.h"
#include "worker/rank/optim/host_block.h"
#include "worker/rank/optim/tile_pool.h"

namespace trainctl::bench {
namespace {

constexpr double kBytesOfOne = 28;
constexpr int kRounds = 5;

struct Arrays {
  explicit Arrays(int64_t elements)
      : count(elements),
        fp32{{elements * 4, c10::kCPU, false, "master"},
             {elements * 4, c10::kCPU, false, "moment"},
             {elements * 4, c10::kCPU, false, "moment"}},
        bf16{{elements * 2, c10::kCPU, false, "gradient"},
             {elements * 2, c10::kCPU, false, "copy"}} {}
  optim::AdamTile Tile() const {
    return {.count = count,
            .master = static_cast<float*>(fp32[0].data()),
            .first = static_cast<float*>(fp32[1].data()),
            .second = static_cast<float*>(fp32[2].data()),
            .bf16_grad = true,
            .grad = bf16[0].data(),
            .out_type = optim::AdamOut::kBf16,
            .out = bf16[1].data()};
  }

  int64_t count;
  optim::HostBlock fp32[3], bf16[2];
};

double SecondsOfOnePass(const Arrays& arrays, const optim::AdamPath& path, int64_t threads) {
  const optim::AdamRule rule{.factors = {.beta1 = 0.9f,
                                         .one_minus_beta1 = 0.1f,
                                         .beta2 = 0.95f,
                                         .one_minus_beta2 = 0.05f,
                                         .step_size = 1e-4f,
                                         .eps = 1e-8f}};
  optim::TilePool pool(threads);
  std::vector<double> seconds;
  for (int round = 0; round < kRounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    pool.Wait(pool.Submit(arrays.count, [&](int64_t first, int64_t last) {
      path.kernel(rule, arrays.Tile().Part(first, last));
    }));
    seconds.push_back(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  std::nth_element(seconds.begin(), seconds.begin() + kRounds / 2, seconds.end());
  return seconds[kRounds / 2];
}

std::vector<int64_t> DefaultThreads() {
  const auto most = optim::AllowedCpus();
  std::vector<int64_t> threads;
  for (int64_t n = 1; n < most; n *= 2) threads.push_back(n);
  threads.push_back(most);
  return threads;
}

int Run(int64_t elements, const std::vector<int64_t>& threads) {
  const Arrays arrays(elements);
  std::printf("%-8s %8s %12s %8s\n", "", "threads", "G params/s", "GB/s");
  for (const optim::AdamPath& path : optim::AdamPaths()) {
    for (const int64_t n : threads) {
      const double rate = static_cast<double>(elements) / SecondsOfOnePass(arrays, path, n);
      std::printf("%-8s %8ld %12.3f %8.1f\n", path.name, static_cast<long>(n), rate * 1e-9,
                  rate * kBytesOfOne * 1e-9);
    }
  }
  return 0;
}

}  // namespace
}  // namespace trainctl::bench

int main(int argc, char** argv) {
  const int64_t millions = argc > 1 ? std::max(1L, std::atol(argv[1])) : 64;
  std::vector<int64_t> threads;
  for (int i = 2; i < argc; ++i) threads.push_back(std::max(1L, std::atol(argv[i])));
  return trainctl::bench::Run(millions * 1'000'000,
                              threads.empty() ? trainctl::bench::DefaultThreads() : threads);
}
