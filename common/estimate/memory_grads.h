// The gradients that a rank holds at the moments of a step's backward, in bytes. Also what is used
// to finish one. Inside this room only. Pure.
#pragma once

#include <cstdint>
#include <vector>

#include "common/estimate/memory_setting.h"
#include "common/estimate/memory_units.h"

namespace trainctl::job {

// One of a step's micro steps, by what it holds.
struct MicroStepPlace {
  bool is_first = true;
  bool is_last = true;
};

// Those that differ: of three and more the first holds no more than the second.
std::vector<MicroStepPlace> MicroStepPlaces(const MemorySetting& setting);

// The gradients that are alive, in elements of whole gradients.
struct LiveGrads {
  int64_t in_backward = 0;  // of the unit (of both uses where it is tied)
  int64_t on_its_way = 0;   // of the unit before it: being reduced, or copied to the host
  int64_t so_far = 0;       // of all units whose backward has begun
};

// Elements of all units' gradients, and of what this rank keeps of them.
int64_t AllTrainable(const MemorySetting& setting);
int64_t AllTrainableHeld(const MemorySetting& setting);

// A unit's gradient is finished after the backward of the next one.
bool Overlaps(const MemorySetting& setting);
// Those of all units are.
bool ReducesAfterBackward(const MemorySetting& setting);

int64_t Grads(const MemorySetting& setting, const LiveGrads& live, const MicroStepPlace& step);
// As a unit is finished. Where that overlaps with the backward of the next one, the reduction of
// the next one's gradient has begun.
int64_t GradsAtFinish(const MemorySetting& setting, const LiveGrads& live,
                      const MicroStepPlace& step);
// While a unit's gradient is finished: deterministic's copies; on CPUs its norm, and its update
// unless that waits for the norm of all.
int64_t FinishWork(const MemorySetting& setting, const UnitElements& unit);

}  // namespace trainctl::job
