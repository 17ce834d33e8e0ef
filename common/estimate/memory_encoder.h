// What the units before the decoder's embedding save, and the moments of their passes. Inside
// this room only. Pure.
#pragma once

#include <cstdint>

#include "common/estimate/memory_setting.h"

namespace trainctl::job {

// At the end of the encoder's forward, and until its backward begins. 0 without an encoder.
int64_t AllEncoderActivations(const MemorySetting& setting);

// While unit `unit` of the encoder, the last that has not gone back yet, is in its backward. What
// it and those before it saved; the gradient of its output and of the picture's features; its
// working buffers.
int64_t EncoderActivationsAt(const MemorySetting& setting, size_t unit);
// While the first so many units have yet to go back, and none is at it.
int64_t EncoderActivationsBefore(const MemorySetting& setting, size_t units);

// While the unit is in a forward that saves nothing, as that of units before all that is trained.
int64_t EncoderForwardAt(const MemorySetting& setting, size_t unit);

}  // namespace trainctl::job
