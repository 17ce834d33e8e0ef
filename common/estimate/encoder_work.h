// Floating point operations and bytes of what stands before the decoder's embedding, for
// step_time.h. Of one sample and micro step. Inside this room only. Pure.
#pragma once

#include "common/job/job.h"
#include "common/model/model_shape.h"

namespace trainctl::job {

struct EncoderWork {
  double flops = 0;
  double elements = 0;  // of the compute dtype, read or written
  double blocks = 0;    // passes of a block's forward and backward
  double adapted = 0;   // matrices
};

// All 0 without an encoder. A trained matrix takes 6 a parameter and row, a frozen one 4. It takes
// 2 where nothing is trained in its unit or before. Attention over all rows is twice the causal
// one.
EncoderWork EncoderWorkOf(const JobSpec& job, const ModelShape& model);

}  // namespace trainctl::job
