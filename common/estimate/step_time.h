// Seconds of one optimizer step, from floating point operations and bytes at a device's rates
// (device_rates.h). It models where the time goes. Its constants were measured on H200s
// (deploy/recipes/README.md, README.md); step_time.cc names them. It lies between runs of
// seconds and of minutes, since an H200 at full power lowers its clock. Long runs of 7B take 1 to 2
// % more than this, and bursts of it some percent less. Pure, thread-safe.
//
// Legend as in memory_estimate.h. N_m: parameters of matrices that a position is multiplied with
// (blocks and head). T positions of a row, W devices, a accumulation.
//
// Of one micro step on one device:
//   flops    a position: 6 N_m; with a frozen base 4 N_m, and 6 for each parameter of the adapters.
//            Attention is 6 L h D T (causal) times 4.5, since its kernels are slower by that. The
//            factor is eighteen for head sizes that the kernels pad. Checkpointed blocks add their
//            forward again, but for each one's last matrix. Blocks in which nothing is trained take
//            2 N_m and a third of attention.
//            Of what stands before the embedding: encoder_work.h, by samples.
//   bytes    a position: e (L (30 H + 9 F) + 4 V) of norms, rotations, SwiGLU and logits. A
//            checkpointed block adds a third again; reference kernels take three times as many.
//            Each adapted matrix adds e (8 in + 4 out): its products with r columns are passes over
//            their operands. A parameter of 4-bit matrices adds 2.6 twice, to unpack it. A
//            parameter adds s if gradients accumulate. The N_m weights are read twice, and their
//            gradients are written unless they are frozen. Products hide half of that.
//   kernels  40 of a block and 14 of an adapted matrix, at a launch each. A GPU waits for its host
//            if giving it these kernels takes longer than all the above.
//   traffic  fsdp: e P (W − 1) / W in forward and again in backward. It comes only once under
//            grad_op, and for the whole model as one unit. Gradients add s P, only once a step if
//            they are held whole (gradient_holding.h). ddp: 2 s P (W − 1) / W once a step.
// Each collective (one a unit and gather or reduction) takes 50 us more than its bytes. Traffic and
// arithmetic run at once and slow each other down: together they take the longer and 0.45 of the
// shorter. They run one after the other if the whole model is one unit.
//
// Once a step comes the optimizer. On the device its bytes are read and written at the
// memory rate. Bytes a trainable parameter of this rank:
//   AdamW            14 bf16-true, 28 32-true, 30 mixed
//   SGD               6 bf16-true, 12 32-true, 14 mixed
//   AdamW in 8 bits  10 bf16-true, 18 32-true, 20 mixed; its arithmetic takes 1.7 times that
// On the host it updates 6.0e9 parameters a second for all its ranks, hidden behind the last
// backward. Then e P / W goes both ways between host and device.
//
// Packed sequences are as long as the longest; attention counts with the mean row.
//
// T of a micro batch of n rows is between the mean and the longest row: mean + (longest − mean) (n
// − 1) / (n + 7), as in data/alpaca*.json. Half of the 64 that it is padded up to is added.
#pragma once

#include "common/estimate/device_rates.h"
#include "common/estimate/inspection.h"
#include "common/job/job.h"
#include "common/job/run_plan.h"
#include "common/model/model_shape.h"

namespace trainctl::job {

inline constexpr double kForwardShare = 1.0 / 3;  // of a training step

// Whether the device is a CPU slot, and whether fsdp reduces once a step (gradient_holding.h).
struct StepSetting {
  DeviceRates rates;
  bool is_cpu = false;
  bool holds_gradients = false;
};

// Of plan.job.
double StepSeconds(const RunPlan& plan, const Inspection& inspection, const StepSetting& setting);

// Bytes of all parameters as they are read when the run starts.
double LoadedBytes(const JobSpec& job, const ModelShape& model);

}  // namespace trainctl::job
