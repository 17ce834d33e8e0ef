// How long something took, counted in fixed buckets: what Prometheus calls a histogram. Lock-free;
// any thread.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace trainctl::meters {

class Histogram {
 public:
  // Upper ends in seconds, from a commit on a fast disk to an inspection of a large model.
  static constexpr std::array kBounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
                                      0.1,    0.25,  0.5,    1.0,   2.5,  5.0,   10.0};

  struct Counts {
    // Of each bucket alone, not of those below it; the last one is for what took longer.
    std::array<int64_t, kBounds.size() + 1> buckets{};
    double total_seconds = 0;

    int64_t all() const;
  };

  // Below 0 counts as 0.
  void Add(int64_t micros);
  Counts Read() const;

 private:
  std::array<std::atomic<int64_t>, kBounds.size() + 1> buckets_{};
  std::atomic<int64_t> total_micros_ = 0;
};

}  // namespace trainctl::meters
