// Seeded damage to bytes, for tests that no reader crashes on anything.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace trainctl {

// One to eight times: a byte changed, removed, repeated, or the end cut off.
inline std::string Mutate(std::string bytes, std::mt19937_64* random) {
  const auto below = [&](size_t bound) { return static_cast<size_t>((*random)() % bound); };
  for (size_t changes = 1 + below(8); changes > 0 && !bytes.empty(); --changes) {
    const size_t at = below(bytes.size());
    switch (below(6)) {
      case 0: bytes[at] = static_cast<char>(below(256)); break;
      case 1: bytes[at] = static_cast<char>(bytes[at] ^ 1 << below(8)); break;
      case 2: bytes.erase(at, 1 + below(4)); break;
      case 3: bytes.insert(at, bytes.substr(at, 1 + below(16))); break;
      case 4: bytes[at] = "{}[]\",:0-\\"[below(10)]; break;
      default:
        if (below(8) == 0) bytes.resize(at);
        break;
    }
  }
  return bytes;
}

}  // namespace trainctl
