// libFuzzer's entry to all targets: fuzz --target=NAME, and libFuzzer's own options.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <iostream>

#include "tests/fuzz/targets.h"

namespace trainctl::fuzz {
namespace {

const Target* g_target = nullptr;

}  // namespace
}  // namespace trainctl::fuzz

// libFuzzer itself takes no notice of options with two dashes.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  namespace fuzz = trainctl::fuzz;
  constexpr std::string_view kOption = "--target=";
  for (int i = 1; i < *argc; ++i) {
    const std::string_view word = (*argv)[i];
    if (word.starts_with(kOption)) fuzz::g_target = fuzz::FindTarget(word.substr(kOption.size()));
  }
  if (fuzz::g_target != nullptr) return 0;
  std::cerr << "fuzz: --target=NAME must name one of:";
  for (const fuzz::Target& target : fuzz::Targets()) std::cerr << ' ' << target.name;
  std::cerr << '\n';
  std::exit(EXIT_FAILURE);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // Of no bytes there may be no pointer.
  const std::string_view bytes(size == 0 ? "" : reinterpret_cast<const char*>(data), size);
  trainctl::fuzz::g_target->read(bytes);
  return 0;
}
