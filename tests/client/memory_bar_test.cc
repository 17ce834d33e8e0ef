#include "client/show/memory_bar.h"

#include <gtest/gtest.h>

#include "common/estimate/prediction.h"
#include "common/job/job_json.h"

namespace trainctl::client {
namespace {

constexpr int64_t kGib = int64_t{1} << 30;

v1::JobDetail MeasuredJob() {
  v1::JobDetail detail;
  const auto add = [&detail](const std::string& kind, const std::string& phase, int64_t gib) {
    v1::MetricSummary& summary = *detail.add_summaries();
    summary.set_name("memory_" + kind + "_bytes");
    summary.set_phase(phase);
    summary.set_rank(0);
    summary.set_max(static_cast<double>(gib * kGib));
    summary.set_count(1);
  };
  add("params", "before_forward", 8);
  add("params", "after_backward", 8);
  add("grads", "after_backward", 4);
  add("optimizer", "after_backward", 16);
  add("other", "after_backward", 4);
  return detail;
}

TEST(MemoryBar, StacksTheKindsUpToTheDevicesSize) {
  EXPECT_EQ(MemoryBar(MeasuredJob(), {80 * kGib}, {.columns = 160, .unicode = false}),
            "[PPPPGGOOOOOOOOxx........................] P params 8.00 GiB G grads 4.00 GiB "
            "O optimizer 16.00 GiB x other 4.00 GiB of 80.00 GiB");
  const std::string drawn = MemoryBar(MeasuredJob(), {80 * kGib}, {.columns = 160});
  EXPECT_EQ(drawn.find("[████▓▓▒▒▒▒▒▒▒▒░░  "), 0u) << drawn;
}

TEST(MemoryBar, MarksThePredictionAndWhatTheJobMayTake) {
  v1::JobDetail detail = MeasuredJob();
  job::JobSpec job;
  job.name = "big";
  job.model.path = job.data.path = "/there";
  job.train.global_batch_size = job.train.micro_batch_size = 1;
  job.resources.gpu_memory_limit_bytes = 64 * kGib;
  detail.set_job_json(job::ToJson(job));
  job::Prediction prediction;
  for (job::MemoryByKind& phase : prediction.memory.phases) phase.peak_allocated = 40 * kGib;
  detail.set_prediction_json(job::ToJson(prediction));
  EXPECT_EQ(MemoryBar(detail, {140 * kGib}, {.columns = 64, .unicode = false}),
            "[PPGOOOOx.|......] P params 8.00 GiB G grads 4.00 GiB O optimizer 16.00 GiB "
            "x other 4.00 GiB of 64.00 GiB, | predicted 40.00 GiB");
}

TEST(MemoryBar, AnOffloadedOptimizerIsInTheMemoryOfACpuSlotAlone) {
  v1::JobDetail detail = MeasuredJob();
  v1::MetricSummary& host = *detail.add_summaries();
  host = detail.summaries(3);
  host.set_name("memory_optimizer_cpu_bytes");
  EXPECT_EQ(MemoryBar(detail, {80 * kGib, /*is_cpu=*/true}, {.columns = 160, .unicode = false}),
            "[PPPPGGOOOOOOOOHHHHHHHHxx................] P params 8.00 GiB G grads 4.00 GiB "
            "O optimizer 16.00 GiB H optimizer_cpu 16.00 GiB x other 4.00 GiB of 80.00 GiB");
  EXPECT_EQ(MemoryBar(detail, {80 * kGib}, {.columns = 160}),
            MemoryBar(MeasuredJob(), {80 * kGib}, {.columns = 160}));
}

TEST(MemoryBar, TheShortOneIsTheBarAlone) {
  const std::optional<HeldMemory> memory = HeldMemoryOf(MeasuredJob(), {80 * kGib});
  ASSERT_TRUE(memory);
  EXPECT_EQ(ShortMemoryBar(*memory, {.columns = 12, .unicode = false}), "[PGOO......]");
  EXPECT_EQ(MemoryBarLegend(/*unicode=*/false),
            "P params G grads O optimizer H optimizer_cpu x other");
}

TEST(MemoryBar, OfAJobThatHasMeasuredNothingIsEmpty) { EXPECT_EQ(MemoryBar({}, {1}, {}), ""); }

}  // namespace
}  // namespace trainctl::client
