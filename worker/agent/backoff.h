// How long to wait before the next try: doubling from first to last, each with jitter (half to
// whole). The jitter keeps the workers of a site from coming all at once. Not thread-safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <random>

namespace trainctl::agent {

class Backoff {
 public:
  using Milliseconds = std::chrono::milliseconds;

  Backoff(Milliseconds first, Milliseconds last, uint64_t seed)
      : first_(first), last_(last), next_(first), random_(seed) {}

  Milliseconds Next() {
    const int64_t whole = next_.count();
    next_ = std::min(last_, next_ * 2);
    return Milliseconds(std::uniform_int_distribution<int64_t>((whole + 1) / 2, whole)(random_));
  }
  // After a success.
  void Reset() { next_ = first_; }

 private:
  const Milliseconds first_;
  const Milliseconds last_;
  Milliseconds next_;
  std::mt19937_64 random_;
};

}  // namespace trainctl::agent
