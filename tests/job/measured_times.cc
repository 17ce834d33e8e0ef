#include "tests/job/measured_times.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "common/base/file.h"
#include "tests/checkout.h"
#include "tests/job/deployed_model.h"

namespace trainctl::job {
namespace {

using enum Use;

std::vector<Override> OnTwo(const char* micro, const char* accumulation) {
  return {{"devices", "2"},
          {"train.micro_batch_size", micro},
          {"train.accumulate_grad_batches", accumulation}};
}

std::vector<Override> With(std::vector<Override> changes, std::vector<Override> more) {
  changes.insert(changes.end(), more.begin(), more.end());
  return changes;
}

const std::vector<Override> kSharded = {{"strategy", "fsdp"}},
                            kOffloaded = {{"offload_optimizer", "true"}};

}  // namespace

// Constants of step_time.cc are fitted to the rows that say so. First
// by tests/gpu/recipes.py: those of one device 2026-11-21, 3 to 5 steps, those of four 2026-11-22,
// 20 steps. Not here are the chess rows on two devices: deploy/recipes/README.md has their errors.
const std::vector<Measured>& MeasuredTable() {
  static const std::vector<Measured> kTable = {
      {"single-1", 2.139},
      {"single-2", 0.554},
      {"single-3", 2.192},
      {"single-4", 0.200, kFitted},
      {"single-5", 0.207},
      {"single-6", 0.652, kFitted},
      {"single-7", 0.566, kFitted},
      {"single-9", 0.090},
      {"single-10", 0.116, kFitted},
      {"single-11", 0.313},
      {"single-12", 0.468, kFitted},
      {"single-13", 0.842},
      {"single-14", 0.498, kFitted},
      {"multi-1", 0.154},
      {"multi-1a", 0.568},
      {"multi-2", 0.191},
      {"multi-3", 0.186, kBefore},
      {"multi-4", 0.322, kBefore},
      {"multi-5", 2.967, kBefore, "", {}, true},
      {"chess-1", 1.389, kBefore, "", {}, true},
      {"chess-3-micro-2", 0.900, kBefore, "", {}, true},
      {"chess-3-micro-4", 0.745, kBefore, "", {}, true},
      {"chess-3-micro-8", 0.649, kBefore, "", {}, true},
      {"chess-3-micro-16", 0.610, kBefore},
      {"chess-4-micro-1", 1.522, kBefore, "", {}, true},
      {"chess-4-micro-4", 0.871, kBefore, "", {}, true},
      {"chess-4-micro-8", 0.783, kBefore, "", {}, true},
      {"chess-4-micro-16", 0.750, kBefore},
      {"further-sgd", 0.554},
      {"further-adamw-8bit", 0.571, kFitted},
      {"further-checkpointing", 0.734},
      {"further-zero2-offload", 1.668, kFitted},
      // The lab of families: 2026-11-22, 8 to 20 steps.
      {"llama-3.2-1b", 0.115},
      {"qwen2.5-0.5b", 0.065},
      {"qwen3-0.6b", 0.093},
      {"llama-3.1-8b-lora", 0.520},
      {"mistral-7b-lora", 0.497},
      {"qwen2.5-7b-lora", 0.501},
      {"qwen3-8b-lora", 0.561},
      {"opt-2.7b", 0.262},
      {"opt-2.7b-lora", 0.202},
      // 2026-11-22 on two of them, tests/gpu/training.py, 20 steps (of 13B 6); fsdp without offload
      // 2026-11-23, 16 steps.
      {"tiny-2gpu-fsdp-micro1", 0.0472, kFitted, "single-4", With(OnTwo("1", "4"), kSharded), true},
      {"7b-2gpu-fsdp-micro1", 0.4602, kHeldOut, "multi-3", OnTwo("1", "8"), true},
      {"7b-2gpu-fsdp", 0.1700, kHeldOut, "multi-3", OnTwo("4", "1")},
      {"7b-2gpu-fsdp-micro8", 0.3106, kHeldOut, "multi-3", OnTwo("8", "1")},
      {"7b-2gpu-ddp", 0.1817, kHeldOut, "multi-2", OnTwo("4", "1")},
      {"tiny-2gpu-ddp", 0.0565, kHeldOut, "single-4", OnTwo("8", "1")},
      {"7b-2gpu-offload", 1.583, kFitted, "multi-3", With(OnTwo("4", "4"), kOffloaded), true},
      {"13b-2gpu-offload", 3.041, kHeldOut, "multi-5", OnTwo("4", "4"), true},
  };
  return kTable;
}

JobSpec JobOf(const Measured& row) {
  const std::string file = *row.job == '\0' ? row.id : row.job;
  const auto text = base::ReadFile(checkout::File("deploy/recipes/" + file + ".json"), 1 << 20);
  const ReadJob read =
      ReadJobFile(*text, {.overrides = With(row.changes, {{"data.val_split_fraction", "0"}})});
  EXPECT_TRUE(read.job) << row.id;
  return read.job.value_or(JobSpec());
}

Inspection InspectionOf(const Measured& row) {
  return {.model = DeployedModel(std::filesystem::path(JobOf(row).model.path).filename()),
          .rows = 4096,
          .longest_row = 512,
          .total_tokens = 4096 * 512,
          .data_digest = "random"};
}

}  // namespace trainctl::job
