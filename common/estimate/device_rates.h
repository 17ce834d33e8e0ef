// What devices reach in training runs, for predictions of run time. Measured where a comment says
// so, else scaled from data sheets by what was measured elsewhere. Pure, thread-safe.
#pragma once

#include <optional>
#include <string_view>

namespace trainctl::job {

// Each a second. A device that is not in the table has no rates.
struct DeviceRates {
  double bf16_flops = 0;    // matrix products
  double fp32_flops = 0;    // without TF32
  double memory_bytes = 0;  // of the device, read and written
  double collective_bytes =
      0;  // bus bandwidth of all-gather, reduce-scatter, all-reduce over the devices of one host
  double host_copy_bytes = 0;      // pinned, one way, all devices of the host at once
  double kernel_seconds = 2.5e-6;  // to launch and end a kernel that has little to do; not a rate
  // Of the host, to give the device a kernel: 6.4 to 15 us were measured beside an H200. Models had
  // 2 to 32 layers and a hidden size of 64, with adapters and without.
  double dispatch_seconds = 8e-6;
  // The same of a collective, its ranks' meeting included: tiny-2gpu-fsdp-micro1.
  double collective_seconds = 50e-6;
};

// By the device's name as workers tell it: "NVIDIA H200", "CPU slot (2 threads)".
std::optional<DeviceRates> RatesOf(std::string_view device_name);

}  // namespace trainctl::job
