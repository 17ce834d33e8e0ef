// How long a job will take: a prediction, from earlier runs of the same shape on the same device where there are any, else from floating
// point operations and bytes at the device's rates (device_rates.h). Pure, thread-safe.
//
// Legend as in memory_estimate.h; N_m parameters of matrices that a position is multiplied with (blocks and head), T positions of a row, W
// devices, a accumulation. Of one micro step on one device:
//   flops    a position: 6 N_m + 6 L h D T (causal attention; times five, for its kernels are slower by that, and ten for head sizes that
//            they pad); a frozen base 4 N_m, and 6 for each parameter of the adapters; 2 N_m and 2 L h D T of a block more where it is
//            checkpointed
//   bytes    a position: e (L (30 H + 9 F) + 4 V) of norms, rotations, SwiGLU and logits; three times as many in reference kernels;
//            2.6 a parameter of 4-bit matrices, twice, to unpack them
//   traffic  fsdp: e P (W − 1) / W in forward and again in backward (once under grad_op and for the whole model as one unit), and s P of
//            gradients (once a step where they are held whole: gradient_holding.h); hidden behind the arithmetic up to its length. ddp:
//            2 s P (W − 1) / W once a step, half of it hidden behind the last micro step
// Once a step: the optimizer's bytes a trainable parameter of this rank (read and written: 14 bf16-true, 28 32-true, 30 mixed with AdamW;
// 6, 12, 14 with SGD; 10, 18, 20 in 8 bits) at the device's memory rate; or on the host, at 6e9 parameters a second for all its ranks,
// hidden behind the last micro step, with e P / W both ways between host and device.
// T of a micro batch is between the mean and the longest row, the nearer to the longest the more rows it has: mean + (longest − mean) ·
// (1 − 1 / √rows). Evaluation is a third of training; loading is counted at 2 GB/s, and 10 s to start.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/job/job.h"
#include "common/job/model_shape.h"

namespace trainctl::job {

struct TimeEstimate {
  double step_seconds = 0;      // of one optimizer step
  double training_seconds = 0;  // the training loop: what the runs' `time` is compared with
  double total_seconds = 0;     // with start, load and evaluation
  int64_t earlier_runs = 0;     // that it is taken from; 0: from rates
  std::string device_name;
};

// What the step time of a job depends on, as text: equal for runs of the same shape (model, data, T, micro batch, accumulation, precision,
// strategy, devices, method, engine; with fsdp and accumulation the memory limit, by which gradients are held whole or not). Two runs with
// equal keys on equal devices take the same time a step.
std::string ShapeKey(const JobSpec& job, const Inspection& inspection);

// From FLOPs and bytes. holds_gradients as in the memory's estimate. nullopt: the device is not in the table of rates, or the data do not
// make a step.
std::optional<TimeEstimate> EstimateTime(const JobSpec& job, const Inspection& inspection, std::string_view device_name,
                                         bool holds_gradients = false);

// From the median step of earlier runs. nullopt: the data do not make a step.
std::optional<TimeEstimate> EstimateTimeFromRuns(const JobSpec& job, const Inspection& inspection, std::string_view device_name,
                                                 double median_step_seconds, int64_t runs);

// "1h 3min (0.84 s a step), predicted from 3 earlier runs on NVIDIA H200" | "…, predicted from the rates of NVIDIA H200".
std::string TimeText(const TimeEstimate& estimate);

}  // namespace trainctl::job
