#include "tests/job/measured_times.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <string_view>
#include <utility>

#include "common/base/file.h"
#include "common/estimate/run_time.h"
#include "tests/checkout.h"
#include "tests/job/deployed_model.h"
#include "tests/job/recipe_rows.h"

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

Measured OnH100(const char* id, const char* job, Use use = kHeldOut) {
  return {.id = id, .use = use, .job = job, .device = kH100};
}

Measured OnTwoH100(const char* id, const char* job, std::vector<Override> changes,
                   bool holds_gradients = false, Use use = kHeldOut) {
  return {.id = id,
          .use = use,
          .job = job,
          .changes = std::move(changes),
          .holds_gradients = holds_gradients,
          .device = kH100};
}

// deploy/data/captions_512.jsonl, with 32 positions of a picture in each row, cut at 82.
constexpr int64_t kCaptions = 512, kLongestCaption = 82, kTokensOfCaptions = 28'332;

const std::vector<Override> kSharded = {{"strategy", "fsdp"}},
                            kOffloaded = {{"offload_optimizer", "true"}};

// Not here are chess rows on two devices. chess-3-auto is chess-3-micro-16.
std::vector<Measured> Rows() {
  return {
      {"single-1"},
      {"single-2"},
      {"single-3"},
      {"single-4", kFitted},
      {"single-5"},
      {"single-6", kFitted},
      {"single-7", kFitted},
      {"single-8"},
      {"single-9", kFitted},
      {"single-10", kFitted},
      {"single-11"},
      {"single-12", kFitted},
      {"single-13"},
      {"single-14", kFitted},
      {"multi-1"},
      {"multi-1a"},
      {"multi-2"},
      {"multi-3", kBefore},
      {"multi-4", kBefore},
      {"multi-5", kBefore, "", {}, true},
      {"chess-1", kBefore, "", {}, true},
      {"chess-2", kBefore},
      {"chess-3-micro-2", kBefore, "", {}, true},
      {"chess-3-micro-4", kBefore, "", {}, true},
      {"chess-3-micro-8", kBefore, "", {}, true},
      {"chess-3-micro-16", kBefore},
      {"chess-3-auto", kBefore, "chess-3-micro-16"},
      {"chess-4-micro-1", kBefore, "", {}, true},
      {"chess-4-micro-4", kBefore, "", {}, true},
      {"chess-4-micro-8", kBefore, "", {}, true},
      {"chess-4-micro-16", kBefore},
      {"further-sgd"},
      {"further-adamw-8bit", kFitted},
      {"further-checkpointing"},
      {"further-zero2-offload", kFitted},
      {"llama-3.2-1b"},
      {"qwen2.5-0.5b"},
      {"qwen3-0.6b"},
      {"llama-3.1-8b-lora"},
      {"mistral-7b-lora"},
      {"qwen2.5-7b-lora"},
      {"qwen3-8b-lora"},
      {"opt-2.7b", kFitted},
      {"opt-2.7b-lora"},
      {"blip-1"},
      {"blip-lora"},
      {"blip-qlora"},
      {"tiny-2gpu-fsdp-micro1", kFitted, "single-4", With(OnTwo("1", "4"), kSharded), true},
      {"7b-2gpu-fsdp-micro1", kHeldOut, "multi-3", OnTwo("1", "8"), true},
      {"7b-2gpu-fsdp", kHeldOut, "multi-3", OnTwo("4", "1")},
      {"7b-2gpu-fsdp-micro8", kHeldOut, "multi-3", OnTwo("8", "1")},
      {"7b-2gpu-ddp", kHeldOut, "multi-2", OnTwo("4", "1")},
      {"tiny-2gpu-ddp", kHeldOut, "single-4", OnTwo("8", "1")},
      {"7b-2gpu-offload", kFitted, "multi-3", With(OnTwo("4", "4"), kOffloaded), true},
      {"13b-2gpu-offload", kHeldOut, "multi-5", OnTwo("4", "4"), true},
      OnH100("h100-single-1", "single-1"),
      OnH100("h100-single-2", "single-2"),
      OnH100("h100-single-3", "single-3"),
      OnH100("h100-single-4", "single-4", kFitted),
      OnH100("h100-single-5", "single-5"),
      OnH100("h100-single-6", "single-6", kFitted),
      OnH100("h100-single-7", "single-7", kFitted),
      OnH100("h100-single-9", "single-9", kFitted),
      OnH100("h100-single-10", "single-10", kFitted),
      OnH100("h100-single-11", "single-11"),
      OnH100("h100-single-12", "single-12", kFitted),
      OnH100("h100-single-13", "single-13"),
      OnH100("h100-single-14", "single-14", kFitted),
      OnH100("h100-multi-1", "multi-1"),
      OnH100("h100-multi-1a", "multi-1a"),
      OnH100("h100-further-sgd", "further-sgd"),
      OnH100("h100-further-adamw-8bit", "further-adamw-8bit", kFitted),
      OnH100("h100-further-checkpointing", "further-checkpointing"),
      OnH100("h100-further-zero2-offload", "further-zero2-offload"),
      OnH100("h100-llama-3.2-1b", "llama-3.2-1b"),
      OnH100("h100-qwen2.5-0.5b", "qwen2.5-0.5b"),
      OnH100("h100-qwen3-0.6b", "qwen3-0.6b"),
      OnH100("h100-llama-3.1-8b-lora", "llama-3.1-8b-lora"),
      OnH100("h100-mistral-7b-lora", "mistral-7b-lora"),
      OnH100("h100-qwen2.5-7b-lora", "qwen2.5-7b-lora"),
      OnH100("h100-qwen3-8b-lora", "qwen3-8b-lora"),
      OnH100("h100-opt-2.7b", "opt-2.7b"),
      OnH100("h100-opt-2.7b-lora", "opt-2.7b-lora"),
      OnTwoH100("h100-tiny-2gpu-fsdp-micro1", "single-4", With(OnTwo("1", "4"), kSharded), true),
      OnTwoH100("h100-7b-2gpu-fsdp-micro1", "multi-3", OnTwo("1", "8"), true, kFitted),
      OnTwoH100("h100-7b-2gpu-fsdp", "multi-3", OnTwo("4", "1")),
      OnTwoH100("h100-7b-2gpu-fsdp-micro8", "multi-3", OnTwo("8", "1")),
      OnTwoH100("h100-7b-2gpu-ddp", "multi-2", OnTwo("4", "1")),
      OnTwoH100("h100-tiny-2gpu-ddp", "single-4", OnTwo("8", "1")),
      OnTwoH100("blip-2-devices-2", "blip-2", {{"devices", "2"}}),
      OnTwoH100("blip-3-devices-2", "blip-3", {{"devices", "2"}}, true),
  };
}

}  // namespace

const std::vector<Measured>& MeasuredTable() {
  static const std::vector<Measured> kTable = [] {
    std::vector<Measured> rows = Rows();
    const std::map<std::string, RecipeRow> recipes = ReadRecipeRows();
    for (Measured& row : rows) {
      const auto found = recipes.find(row.id);
      EXPECT_TRUE(found != recipes.end()) << row.id << " is not in deploy/recipes/README.md";
      if (found == recipes.end()) continue;
      row.step_seconds = found->second.step_seconds;
      row.peak_gib = found->second.peak_gib;
    }
    return rows;
  }();
  return kTable;
}

const std::vector<Measured>& TimedRows() {
  static const std::vector<Measured> kRows = [] {
    std::vector<Measured> rows = MeasuredTable();
    std::erase_if(rows, [](const Measured& row) {
      return row.step_seconds == 0 || row.id == std::string_view("chess-3-auto");
    });
    return rows;
  }();
  return kRows;
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
  Inspection inspection{
      .model = DeployedModel(std::filesystem::path(JobOf(row).model.path).filename()),
      .rows = 4096,
      .longest_row = 512,
      .total_tokens = 4096 * 512,
      .data_digest = "random"};
  if (inspection.model.image) {
    inspection.rows = kCaptions;
    inspection.longest_row = kLongestCaption;
    inspection.total_tokens = kTokensOfCaptions;
    inspection.data_digest = "captions";
  }
  return inspection;
}

double PredictedSeconds(const Measured& row) {
  return EstimateTime(JobOf(row), InspectionOf(row), row.device, row.holds_gradients)->step_seconds;
}

}  // namespace trainctl::job
