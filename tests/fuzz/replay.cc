// Gives targets their seeds and damaged copies of them: for builds without libFuzzer.
//
//   fuzz_replay --list
//   fuzz_replay TARGET BYTES FILE …    prints how many of the files were understood
//
// BYTES is about how long all damaged copies of a file are together.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <random>
#include <span>
#include <string>
#include <string_view>

#include "common/base/file.h"
#include "tests/files/mutate.h"
#include "tests/fuzz/targets.h"

namespace trainctl::fuzz {
namespace {

constexpr size_t kMostCopies = 50;

// The whole file, and damaged copies that are the same in every run.
bool Replay(const Target& target, const std::string& path, size_t bytes) {
  std::cerr << path << '\n';  // who crashes has said where
  const std::string whole = base::ReadFile(path, size_t{16} << 20).value();
  const size_t copies = std::min(kMostCopies, bytes / (whole.size() + 1));
  std::mt19937_64 random(1);
  for (size_t copy = 0; copy < copies; ++copy) target.read(Mutate(whole, &random));
  return target.read(whole);
}

int Run(const Target& target, size_t bytes, std::span<char*> files) {
  int understood = 0;
  for (const char* file : files) understood += Replay(target, file, bytes) ? 1 : 0;
  std::cout << understood << '\n';
  return EXIT_SUCCESS;
}

}  // namespace
}  // namespace trainctl::fuzz

int main(int argc, char** argv) {
  namespace fuzz = trainctl::fuzz;
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first == "--list") {
    for (const fuzz::Target& target : fuzz::Targets()) std::cout << target.name << '\n';
    return EXIT_SUCCESS;
  }
  const fuzz::Target* const target = fuzz::FindTarget(first);
  if (target == nullptr || argc < 3) return EXIT_FAILURE;
  return fuzz::Run(*target, std::strtoul(argv[2], nullptr, 10), {argv + 3, argv + argc});
}
