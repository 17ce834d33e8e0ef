// Time is injected: nothing but main.cc files and this room's SystemClock reads the machine's
// clocks.
#pragma once

#include <cstdint>

namespace trainctl::base {

// Microseconds since the Unix epoch (wall time, for people and storage).
using WallMicros = int64_t;
// Microseconds of a clock that never goes back (for deadlines). Not comparable between processes.
using SteadyMicros = int64_t;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual WallMicros Wall() const = 0;
  virtual SteadyMicros Steady() const = 0;
};

// Thread-safe.
class SystemClock : public Clock {
 public:
  WallMicros Wall() const override;
  SteadyMicros Steady() const override;
};

// Advances only when told. Not thread-safe.
class FakeClock : public Clock {
 public:
  WallMicros Wall() const override { return now_; }
  SteadyMicros Steady() const override { return now_; }
  void Advance(int64_t micros) { now_ += micros; }

 private:
  int64_t now_ = 1'000'000'000;
};

}  // namespace trainctl::base
