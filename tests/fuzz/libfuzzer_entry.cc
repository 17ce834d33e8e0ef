// libFuzzer's entry to one of the targets.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/targets.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Of no bytes there may be no pointer.
  const std::string_view bytes(size == 0 ? "" : reinterpret_cast<const char*>(data), size);
  trainctl::fuzz::TRAINCTL_FUZZED(bytes);
  return 0;
}
