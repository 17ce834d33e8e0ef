// Seconds of one optimizer step, from floating point operations and bytes at a device's rates
// (device_rates.h): a model of where the time goes, whose constants were measured on 2026-11-21 on
// H200s (deploy/recipes/README.md, README.md) and are named in step_time.cc. It lies between runs
// of seconds and of minutes: at full power an H200 lowers its clock, so that long runs of 7B take 1
// to 2 % more than this, and bursts of it some percent less. Pure, thread-safe.
//
// Legend as in memory_estimate.h; N_m parameters of matrices that a position is multiplied with
// (blocks and head), T positions of a row, W devices, a accumulation. Of one micro step on one
// device:
//   flops    a position: 6 N_m; a frozen base 4 N_m, and 6 for each parameter of the adapters;
//   attention 6 L h D T (causal), times four,
//            for its kernels are slower by that, and sixteen for head sizes that they pad; where
//            blocks are checkpointed, their forward again but for each one's last matrix; 2 N_m of
//            blocks and a third of attention where nothing in them is trained
//   bytes    a position: e (L (30 H + 9 F) + 4 V) of norms, rotations, SwiGLU and logits, a third
//   of a block's again where it is
//            checkpointed, three times as many in reference kernels; of each adapted matrix e (8 in
//            + 4 out), since its products with r columns are passes over their operands; 2.6 a
//            parameter of 4-bit matrices, twice, to unpack them; s a parameter where gradients
//            accumulate
//   kernels  40 of a block and 14 of an adapted matrix, at a launch each
//   traffic  fsdp: e P (W − 1) / W in forward and again in backward (once under grad_op and for the
//   whole model as one unit), and s P of
//            gradients (once a step where they are held whole: gradient_holding.h). ddp: 2 s P (W −
//            1) / W once a step
// Each collective (one a unit and gather or reduction) takes 50 us more than its bytes.
// Traffic and arithmetic run at once and slow each other down: together they take the longer and
// 0.45 of the shorter; one after the other where the whole model is one unit. Once a step: the
// optimizer's bytes a trainable parameter of this rank (read and written: 14 bf16-true, 28 32-true,
// 30 mixed with AdamW; 6, 12, 14 with SGD; in 8 bits 10, 18, 20, whose arithmetic takes 1.7 times
// that) at the device's memory rate; or on the host, at 6.0e9 parameters a second for all its
// ranks, hidden behind the last backward, with e P / W both ways between host and device. T of a
// micro batch of n rows is between the mean and the longest row, mean + (longest − mean) (n − 1) /
// (n + 7), as in data/alpaca*.json, and then half of the 64 that it is padded up to.
#pragma once

#include "common/estimate/device_rates.h"
#include "common/estimate/inspection.h"
#include "common/job/job.h"
#include "common/job/run_plan.h"
#include "common/model/model_shape.h"

namespace trainctl::job {

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
