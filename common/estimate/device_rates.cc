#include "common/estimate/device_rates.h"

#include "common/job/device.h"

namespace trainctl::job {
namespace {

struct Row {
  std::string_view name;  // in the device's name; the first row that is counts
  DeviceRates rates;
};

constexpr Row kGpus[] = {
    // Measured, deploy/recipes/README.md: 690 TFLOP/s of matrix products in single-4 and single-7
    // (more in bursts, 670 after minutes at full power); device copy 4,270 GB/s, NCCL on four GPUs
    // in blocks of 7B, four pinned copies at once.
    {"H200", {690e12, 52e12, 4.27e12, 300e9, 33e9}},
    {"H100 PCIe", {420e12, 40e12, 1.75e12, 40e9, 33e9}},
    {"H100 NVL", {520e12, 45e12, 3.4e12, 200e9, 33e9}},
    // Measured on those of 80 GB: matrix products in bf16 and memory are fitted to eight rows of
    // deploy/recipes/README.md, collectives to one (tests/job/measured_times.cc).
    {"H100", {710e12, 52e12, 3.3e12, 270e9, 33e9}},
    {"A100 80GB PCIe", {230e12, 17e12, 1.65e12, 18e9, 18e9}},
    {"A100-PCIE", {225e12, 17e12, 1.3e12, 18e9, 18e9}},
    {"A100", {245e12, 18e12, 1.7e12, 200e9, 18e9}},
    {"L40S", {220e12, 60e12, 0.74e12, 18e9, 18e9}},
    {"L4", {55e12, 18e12, 0.26e12, 12e9, 12e9}},
    {"A10", {70e12, 18e12, 0.5e12, 12e9, 12e9}},
    {"RTX 4090", {150e12, 60e12, 0.9e12, 12e9, 18e9}},
    {"RTX 3090", {65e12, 25e12, 0.82e12, 12e9, 12e9}},
};

// One thread of a CPU slot: SmolLM2-135M trains at about 185 tokens/s on two (README.md, with rows
// of 128).
constexpr DeviceRates kThread = {.bf16_flops = 60e9,
                                 .fp32_flops = 107e9,
                                 .memory_bytes = 8e9,
                                 .collective_bytes = 1e9,
                                 .host_copy_bytes = 8e9};

}  // namespace

std::optional<DeviceRates> RatesOf(std::string_view device_name) {
  if (const std::optional<int64_t> threads = ThreadsOfCpuSlot(device_name)) {
    const auto n = static_cast<double>(*threads);
    return DeviceRates{.bf16_flops = n * kThread.bf16_flops,
                       .fp32_flops = n * kThread.fp32_flops,
                       .memory_bytes = n * kThread.memory_bytes,
                       .collective_bytes = kThread.collective_bytes,
                       .host_copy_bytes = n * kThread.host_copy_bytes};
  }
  for (const Row& row : kGpus) {
    if (device_name.find(row.name) != std::string_view::npos) return row.rates;
  }
  return std::nullopt;
}

}  // namespace trainctl::job
