// On a GPU: each fused kernel against plain ATen in float64 on random inputs. Shapes and dtypes are
// those that worker/rank/ops/fused.h promises, fast paths and slow ones. Then the time of each at
// OpenLLaMA 7B's shapes, beside the bytes that it has to move. Exit status 77 if there is no GPU, 1
// if a check failed.
//
// gpu_kernel_check [--no-timing]
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

#include "tests/gpu/kernel_checks.h"
#include "tests/gpu/kernel_timing.h"

namespace trainctl::gpu {
namespace {

struct Section {
  const char* name;
  void (*check)(Checks&);
};

constexpr Section kSections[] = {
    {"norm", CheckNorms},
    {"column sum", CheckColumnSums},
    {"rope", CheckRope},
    {"swiglu", CheckSwiGlus},
    {"gelu", CheckGelus},
    {"cross-entropy", CheckCrossEntropies},
    {"embedding", CheckEmbeddings},
    {"flat", CheckFlat},
    {"dropout", CheckDropouts},
    {"nf4", CheckNf4s},
    {"attention", CheckAttentions},
    {"refusals", CheckRefusals},
};

int Run(bool with_timing) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no GPU: nothing was checked\n");
    return 77;
  }
  Checks checks;
  for (const auto& [name, check] : kSections) {
    const int failed = checks.failed(), done = checks.done();
    check(checks);
    std::printf("%-14s %d checks, %d failed\n", name, checks.done() - done,
                checks.failed() - failed);
  }
  if (with_timing) {
    TimeKernels();
  }
  return checks.failed() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace trainctl::gpu

int main(int argc, char** argv) {
  return trainctl::gpu::Run(!(argc > 1 && std::strcmp(argv[1], "--no-timing") == 0));
}
