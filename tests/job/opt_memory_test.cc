// The memory of OPT beside what the allocator of a rank counted on a CPU slot: the job of
// tests/e2e/prediction_test.py without dropout, rows of up to 256 tokens.
#include <gtest/gtest.h>

#include "common/estimate/memory_estimate.h"
#include "tests/job/valid_job.h"

namespace trainctl::job {
namespace {

Inspection SmallOpt() {
  Inspection inspection;
  inspection.model = {.family = "opt",
                      .layers = 4,
                      .hidden = 64,
                      .intermediate = 256,
                      .heads = 4,
                      .kv_heads = 4,
                      .head_dim = 16,
                      .vocab = 512,
                      .max_positions = 2048,
                      .tied_head = true};
  inspection.longest_row = 256;
  return inspection;
}

JobSpec EightRows() {
  JobSpec job = SmallestJob();
  job.train.micro_batch_size = 8;
  job.train.max_seq_length = 256;
  return job;
}

void ExpectPeak(const JobSpec& job, double measured_bytes) {
  const MemoryEstimate estimate = EstimateMemory(job, SmallOpt(), DeviceKind::kCpu);
  EXPECT_NEAR(static_cast<double>(estimate.peak_allocated), measured_bytes, 0.05 * measured_bytes);
}

TEST(OptMemory, IsWhatARankMeasured) {
  ExpectPeak(EightRows(), 40'591'456);
  JobSpec lora = EightRows(), checkpointed = EightRows();
  lora.lora.emplace().r = 8;
  lora.precision = Precision::kBf16True;
  ExpectPeak(lora, 28'051'040);
  checkpointed.activation_checkpointing = 1;
  checkpointed.precision = Precision::kBf16Mixed;
  ExpectPeak(checkpointed, 22'460'000);
}

}  // namespace
}  // namespace trainctl::job
