// Writes a line for each kernel, copy and fill that a process runs on its GPUs: begin and end in
// ns, blocks, name. CUDA loads it where CUDA_INJECTION64_PATH names it; the lines go to the file
// KERNEL_TIMES with the process's number added. kernel_times.py builds and reads it.
#include <cupti.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace {

constexpr size_t kBufferBytes = 8 << 20;
constexpr uint32_t kFlushMilliseconds = 500;
std::FILE* g_out = nullptr;

void Write(uint64_t begin, uint64_t end, int64_t blocks, const char* name) {
  std::fprintf(g_out, "%llu %llu %lld %s\n", static_cast<unsigned long long>(begin),
               static_cast<unsigned long long>(end), static_cast<long long>(blocks), name);
}

void CUPTIAPI MakeBuffer(uint8_t** buffer, size_t* size, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *size = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}

void CUPTIAPI WriteBuffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t used) {
  CUpti_Activity* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, used, &record) == CUPTI_SUCCESS) {
    if (record->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
      const auto* kernel = reinterpret_cast<const CUpti_ActivityKernel9*>(record);
      Write(kernel->start, kernel->end, int64_t{kernel->gridX} * kernel->gridY * kernel->gridZ,
            kernel->name);
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
      const auto* copy = reinterpret_cast<const CUpti_ActivityMemcpy5*>(record);
      Write(copy->start, copy->end, 0, "copy");
    } else if (record->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
      const auto* fill = reinterpret_cast<const CUpti_ActivityMemset4*>(record);
      Write(fill->start, fill->end, 0, "fill");
    }
  }
  std::fflush(g_out);
  std::free(buffer);
}

}  // namespace

extern "C" int InitializeInjection() {
  const char* path = std::getenv("KERNEL_TIMES");
  if (path == nullptr) return 1;
  g_out = std::fopen((path + ("." + std::to_string(getpid()))).c_str(), "w");
  if (g_out == nullptr) return 1;
  cuptiActivityRegisterCallbacks(MakeBuffer, WriteBuffer);
  for (const CUpti_ActivityKind kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                        CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
    cuptiActivityEnable(kind);
  cuptiActivityFlushPeriod(kFlushMilliseconds);
  return 1;
}
