// A driver's libnvidia-ml.so.1 with two GPUs, for nvml_test.cc. Names and signatures are those of
// NVIDIA's nvml.h (https://docs.nvidia.com/deploy/nvml-api/), written again without nvml.cc's, so
// that a slip in those shows.
#include <cstring>

extern "C" {

struct nvmlDevice_st {
  unsigned index;
};
using nvmlDevice_t = nvmlDevice_st*;
using nvmlReturn_t = int;

struct nvmlMemory_v2_t {
  unsigned version;
  unsigned long long total, reserved, free, used;
};
struct nvmlPciInfo_t {
  char busIdLegacy[16];
  unsigned domain, bus, device, pciDeviceId, pciSubSystemId;
  char busId[32];
};
struct nvmlUtilization_t {
  unsigned gpu, memory;
};
struct nvmlProcessInfo_t {
  unsigned pid;
  unsigned long long usedGpuMemory;
  unsigned gpuInstanceId, computeInstanceId;
};

#define EXPORT __attribute__((visibility("default")))

// The test's: what nvmlInit_v2 answers, and how often it and nvmlShutdown were called.
EXPORT nvmlReturn_t fake_init_answer = 0;
EXPORT int fake_inits = 0, fake_shutdowns = 0;

namespace {

constexpr nvmlReturn_t kSuccess = 0, kInvalidArgument = 2, kNotSupported = 3;
constexpr nvmlReturn_t kInsufficientSize = 7, kVersionMismatch = 25;
nvmlDevice_st devices[] = {{0}, {1}};

nvmlReturn_t Text(const char* text, char* to, unsigned length) {
  if (std::strlen(text) >= length) return kInsufficientSize;
  std::strcpy(to, text);
  return kSuccess;
}

}  // namespace

EXPORT nvmlReturn_t nvmlInit_v2() {
  ++fake_inits;
  return fake_init_answer;
}
EXPORT nvmlReturn_t nvmlShutdown() {
  ++fake_shutdowns;
  return kSuccess;
}
EXPORT const char* nvmlErrorString(nvmlReturn_t result) {
  return result == 9 ? "Driver Not Loaded" : "Another Error";
}
EXPORT nvmlReturn_t nvmlSystemGetDriverVersion(char* version, unsigned length) {
  return Text("580.95.05", version, length);
}
EXPORT nvmlReturn_t nvmlDeviceGetCount_v2(unsigned* count) {
  *count = 2;
  return kSuccess;
}
EXPORT nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t* device) {
  if (index >= 2) return kInvalidArgument;
  *device = &devices[index];
  return kSuccess;
}
EXPORT nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t device, char* uuid, unsigned length) {
  return Text(device->index == 0 ? "GPU-aaaa" : "GPU-bbbb", uuid, length);
}
EXPORT nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t device, char* name, unsigned length) {
  return Text(device->index == 0 ? "NVIDIA H200" : "NVIDIA H100", name, length);
}
EXPORT nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t, int* major, int* minor) {
  *major = 9;
  *minor = 1;
  return kSuccess;
}
EXPORT nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, nvmlMemory_v2_t* memory) {
  if (memory->version != (sizeof *memory | 2U << 24)) return kVersionMismatch;
  memory->total = (device->index + 1ULL) << 36;
  memory->reserved = 3ULL << 20;
  memory->used = 5ULL << 20;
  memory->free = memory->total - memory->reserved - memory->used;
  return kSuccess;
}
EXPORT nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t, nvmlPciInfo_t* pci) {
  std::memset(pci, 0, sizeof *pci);
  std::strcpy(pci->busId, "FFFFFFFF:FF:1F.7");  // that no host has
  return kSuccess;
}
EXPORT nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t, nvmlUtilization_t* rates) {
  *rates = {70, 30};
  return kSuccess;
}
EXPORT nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t device, unsigned* milliwatts) {
  *milliwatts = 350'500;
  return device->index == 0 ? kSuccess : kNotSupported;
}
EXPORT nvmlReturn_t nvmlDeviceGetTemperature(nvmlDevice_t, int sensor, unsigned* celsius) {
  if (sensor != 0) return kInvalidArgument;
  *celsius = 61;
  return kSuccess;
}
EXPORT nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t, unsigned long long* mj) {
  *mj = 7'500;
  return kSuccess;
}
EXPORT nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t, unsigned* count,
                                                            nvmlProcessInfo_t* infos) {
  if (*count < 2) return kInsufficientSize;
  *count = 2;
  infos[0] = {41, 1ULL << 30, ~0U, ~0U};
  infos[1] = {42, ~0ULL, ~0U, ~0U};  // not known
  return kSuccess;
}
#ifndef TRAINCTL_LACKS_P2P_STATUS
EXPORT nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t, nvmlDevice_t, int, int* status) {
  *status = 1;  // no NVLink
  return kSuccess;
}
#endif
EXPORT nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t, nvmlDevice_t, int* level) {
  *level = 30;
  return kSuccess;
}

}  // extern "C"
