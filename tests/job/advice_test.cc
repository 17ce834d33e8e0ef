// Other ways to run a job: each trains the same, fits, can be typed, and the front holds the best.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "common/advice/earlier_times.h"
#include "common/advice/way.h"
#include "common/estimate/fit.h"
#include "common/estimate/gradient_holding.h"
#include "common/job/batch.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"
#include "tests/job/deployed_model.h"
#include "tests/job/gib.h"
#include "tests/sanitized.h"

namespace trainctl::advice {
namespace {

using job::kGiB;

using ::testing::HasSubstr;

constexpr char kFile[] = R"({"version": 1, "name": "seven", "model": {"path": "/m"},
  "data": {"path": "/d", "val_split_fraction": 0.05}, "precision": "bf16-true",
  "train": {"global_batch_size": 64, "micro_batch_size": 4, "max_seq_length": 512},
  "output": {"dir": "/o", "save": "none"}})";

constexpr char kNothingKept[] = R"("save": "none")";

// What is typed behind `trainctl submit FILE`.
std::vector<job::Override> Typed(const std::string& overrides) {
  std::vector<job::Override> typed;
  std::istringstream words(overrides);
  for (std::string key, value; words >> key >> value;) {
    if (value.starts_with("'")) value = value.substr(1, value.size() - 2);
    typed.push_back({key.substr(2), value});
  }
  return typed;
}

job::JobSpec Read(const std::string& text, const std::string& overrides = "") {
  job::ReadJob read =
      job::ReadJobFile(text, {.base_directory = "/", .overrides = Typed(overrides)});
  EXPECT_TRUE(read.problems.empty()) << job::Format(read.problems, overrides);
  return read.job.value_or(job::JobSpec());
}

Question OnH200s(const std::string& text, int64_t devices,
                 const std::string& model = "open_llama_7b") {
  Question question{.job = Read(text), .devices = devices};
  question.inspection = {.model = job::DeployedModel(model),
                         .rows = 52'000,
                         .longest_row = 512,
                         .total_tokens = 52'000 * 120,
                         .data_digest = "d",
                         .output = std::nullopt};
  question.device = {.kind = job::DeviceKind::kCuda,
                     .host = "h",
                     .name = "NVIDIA H200",
                     .memory_bytes = 139 * kGiB,
                     .compute_capability = "9.0"};
  return question;
}

Ways Find(const Question& question) {
  base::Result<Ways> ways = FindWays(question);
  EXPECT_TRUE(ways.ok()) << ways.error().message;
  return ways.ok() ? std::move(*ways) : Ways();
}

TEST(Advice, EveryWayTrainsTheSameAndFits) {
  const Question question = OnH200s(kFile, 4);
  const Ways ways = Find(question);
  ASSERT_GT(ways.fitting.size(), 50u);
  for (const Way& way : ways.fitting) {
    EXPECT_TRUE(job::CheckJob(way.job).empty());
    EXPECT_EQ(job::PlanBatch(way.job)->global, 64);
    EXPECT_EQ(way.job.precision, question.job.precision);
    EXPECT_EQ(way.job.optimizer.name, question.job.optimizer.name);
    EXPECT_FALSE(way.job.lora);
    EXPECT_TRUE(job::FitsSafely(way.peak_bytes(), way.limit_bytes));
    EXPECT_GT(way.time->total_seconds, 0);
  }
  int64_t excluded = 0;
  for (const Exclusion& exclusion : ways.excluded) excluded += exclusion.ways;
  EXPECT_EQ(ways.considered, static_cast<int64_t>(ways.fitting.size()) + excluded);
}

// A file that counts accumulation, one with a global batch, one with neither; and one that says the
// type of its saved model, which an adapter does not take.
TEST(Advice, TheOverridesAreTheWay) {
  const std::string file = kFile;
  const std::string batch = "\"global_batch_size\": 64, ";
  const size_t at = file.find(batch);
  const std::string accumulating =
      std::string(file).replace(at, batch.size(), "\"accumulate_grad_batches\": 8, ");
  const std::string plain = std::string(file).replace(at, batch.size(), "");
  const std::string saving = std::string(file).replace(
      file.find(kNothingKept), sizeof kNothingKept - 1, R"("save": "final", "dtype": "float16")");
  for (const std::string& text : {file, accumulating, plain, saving}) {
    Question question = OnH200s(text, 4);
    question.liberties = {Liberty::kLora, Liberty::kQlora, Liberty::kPrecision,
                          Liberty::kOptimizer};
    const Ways ways = Find(question);
    size_t tried = 0;
    for (size_t i = 0; i < ways.fitting.size(); i += 37, ++tried) {
      const Way& way = ways.fitting[i];
      const std::string overrides = OverridesOf(question.job, way);
      const job::JobSpec typed = job::ResolveJob(Read(text, overrides));
      EXPECT_EQ(job::ToJson(typed), job::ToJson(way.job)) << overrides;
    }
    EXPECT_GE(tried, 8u);
    EXPECT_TRUE(
        std::ranges::any_of(ways.fitting, [](const Way& way) { return way.job.lora.has_value(); }));
    EXPECT_EQ(OverridesOf(question.job, ways.asked), "");
  }
}

TEST(Advice, NoWayBeatsOneOfTheFront) {
  const Ways ways = Find(OnH200s(kFile, 4));
  const std::vector<Way> front = ParetoFront(ways.fitting);
  ASSERT_GE(front.size(), 3u);
  const auto least_seconds = [](const Way& way) { return way.time->total_seconds; };
  EXPECT_EQ(front.front().time->total_seconds,
            std::ranges::min_element(ways.fitting, {}, least_seconds)->time->total_seconds);
  for (size_t i = 1; i < front.size(); ++i)
    EXPECT_LE(front[i - 1].time->total_seconds, front[i].time->total_seconds);
  for (const Way& kept : front) {
    for (const Way& other : ways.fitting) {
      const bool beats = other.time->total_seconds < kept.time->total_seconds &&
                         other.peak_bytes() < kept.peak_bytes() &&
                         other.job.devices <= kept.job.devices;
      EXPECT_FALSE(beats) << OverridesOf(front.front().job, other);
    }
  }
  for (const Way& way : ways.fitting) {
    const auto no_slower = [&](const Way& kept) {
      return kept.time->total_seconds <= way.time->total_seconds;
    };
    EXPECT_TRUE(std::ranges::any_of(front,
                                    [&](const Way& kept) {
                                      return no_slower(kept) &&
                                             0.99 * static_cast<double>(kept.peak_bytes()) <=
                                                 static_cast<double>(way.peak_bytes());
                                    }))
        << "left out: " << OverridesOf(front.front().job, way);
    EXPECT_TRUE(std::ranges::any_of(
        front,
        [&](const Way& kept) { return no_slower(kept) && kept.job.devices <= way.job.devices; }))
        << "left out: " << OverridesOf(front.front().job, way);
  }
  // The fastest of one device is there, though more devices are faster and hold less each.
  EXPECT_EQ(std::ranges::count(front, 1, [](const Way& way) { return way.job.devices; }) > 0, true);
}

// Whole gradients of a 7B in bf16 are 12.6 GiB.
TEST(Advice, UnderALimitFsdpReducesInEachMicroStepForLessMemory) {
  const Question question = OnH200s(kFile, 2);
  const Ways ways = Find(question);
  std::map<std::string, const Way*> of_job;
  for (const Way& way : ways.fitting) of_job[job::ToJson(way.job)] = &way;
  size_t pairs = 0;
  for (const Way& often : ways.fitting) {
    if (!often.job.resources.gpu_memory_limit_bytes) continue;
    job::JobSpec unlimited = often.job;
    unlimited.resources.gpu_memory_limit_bytes.reset();
    const Way* once = of_job[job::ToJson(unlimited)];
    ASSERT_NE(once, nullptr);
    EXPECT_EQ(once->memory.holds_gradients, true);
    EXPECT_LT(often.peak_bytes(), once->peak_bytes());
    EXPECT_GE(often.time->step_seconds, once->time->step_seconds);
    const job::MemoryEstimate run = job::EstimateMemoryOn(
        often.job, question.inspection, question.device.kind, question.device.memory_bytes);
    EXPECT_EQ(run.holds_gradients, false) << "this is how its ranks will go";
    EXPECT_EQ(run.peak_allocated, often.peak_bytes());
    EXPECT_TRUE(job::FitsSafely(run.peak_allocated, often.limit_bytes));
    ++pairs;
  }
  EXPECT_GE(pairs, 10u);
}

TEST(Advice, CheckpointingIsTriedOfAllBlocksAndOfFewer) {
  const auto tried = [](const Question& question) {
    std::set<int64_t> every;
    for (const Way& way : Find(question).fitting) every.insert(way.job.activation_checkpointing);
    return every;
  };
  Question question = OnH200s(kFile, 1);
  EXPECT_EQ(tried(question), (std::set<int64_t>{0, 1, 2, 3, 4}));
  question.job.activation_checkpointing = 6;
  EXPECT_EQ(tried(question), (std::set<int64_t>{0, 1, 2, 3, 4, 6}));
  question.inspection.model.layers = 1;
  EXPECT_EQ(tried(question), (std::set<int64_t>{0, 1, 6}));
}

TEST(Advice, WhatDoesNotFitIsShownWithWhatItLacks) {
  std::string text = kFile;
  text.replace(text.find("bf16-true"), 9, "32-true");
  Question question = OnH200s(text, 1);
  question.device.memory_bytes = 80 * kGiB;
  const Ways ways = Find(question);
  EXPECT_EQ(ways.asked_refused, "it does not fit 80.00 GiB with a margin");
  const auto memory =
      std::ranges::find(ways.excluded, "more memory than a device has", &Exclusion::reason);
  ASSERT_NE(memory, ways.excluded.end());
  EXPECT_GT(memory->least_peak_bytes, 75 * kGiB);
  question.liberties = {Liberty::kQlora, Liberty::kPrecision};
  const Ways freer = Find(question);
  EXPECT_TRUE(std::ranges::any_of(freer.fitting,
                                  [](const Way& way) { return way.job.quantize.has_value(); }));
  EXPECT_FALSE(std::ranges::any_of(
      freer.fitting, [](const Way& way) { return way.job.lora.has_value() && !way.job.quantize; }));
}

TEST(Advice, ARateThatFollowsTheDevicesKeepsTheirNumber) {
  std::string text = kFile;
  text.replace(text.find("\"output\""), 8,
               "\"optimizer\": {\"lr\": 1e-5, \"lr_scaling\": \"linear\"}, \"output\"");
  const Ways ways = Find(OnH200s(text, 4));
  ASSERT_FALSE(ways.fitting.empty());
  for (const Way& way : ways.fitting) EXPECT_EQ(way.job.devices, 1);
  EXPECT_TRUE(std::ranges::any_of(ways.excluded, [](const Exclusion& exclusion) {
    return exclusion.reason.find("lr_scaling") != std::string::npos;
  }));
}

// Each number of devices stands for one way, so that considered is what fits and what is left out.
TEST(Advice, NumbersOfDevicesThatDoNotDivideTheBatchAreNamed) {
  const Ways ways = Find(OnH200s(kFile, 12, "tiny"));
  const auto told = std::ranges::find_if(ways.excluded, [](const Exclusion& exclusion) {
    return exclusion.reason.starts_with("devices:");
  });
  ASSERT_NE(told, ways.excluded.end());
  EXPECT_EQ(told->reason, "devices: the global batch of 64 is no multiple of 3, 5, 6, 7, 9, 10, …");
  EXPECT_EQ(told->ways, 8);
  int64_t left_out = 0;
  for (const Exclusion& exclusion : ways.excluded) left_out += exclusion.ways;
  EXPECT_EQ(ways.considered, std::ssize(ways.fitting) + left_out);
}

TEST(Advice, OnACpuSlotNoWayMovesTheOptimizerToTheHost) {
  Question question = OnH200s(kFile, 1, "tiny");
  const auto offloads = [](const Way& way) { return way.job.offload_optimizer; };
  EXPECT_TRUE(std::ranges::any_of(Find(question).fitting, offloads));
  question.device = {
      .kind = job::DeviceKind::kCpu, .host = "h", .name = "CPU slot", .memory_bytes = 64 * kGiB};
  const std::vector<Way> fitting = Find(question).fitting;
  EXPECT_FALSE(fitting.empty());
  EXPECT_TRUE(std::ranges::none_of(fitting, offloads));
}

TEST(Advice, NoWayHasMoreDevicesThanPolicyLetsTheUserHave) {
  Question question = OnH200s(kFile, 4, "tiny");
  question.user = "ann";
  question.policy.max_running_devices = 2;
  const std::string reason =
      "devices: expected at most 2, all that one user may have at once; this site's policy for ann";
  const Ways ways = Find(question);
  EXPECT_EQ(ways.asked_refused, "");
  ASSERT_FALSE(ways.fitting.empty());
  for (const Way& way : ways.fitting) EXPECT_LE(way.job.devices, 2);
  const auto told = std::ranges::find(ways.excluded, reason, &Exclusion::reason);
  ASSERT_NE(told, ways.excluded.end());
  EXPECT_GT(told->ways, 10);
  question.job.devices = 4;
  question.job.train.accumulate_grad_batches.reset();
  EXPECT_EQ(Find(question).asked_refused, reason);
  question.job.resources.lease = "lab";
  EXPECT_EQ(Find(question).asked_refused, "") << "a lease's devices count for nothing";
}

TEST(Advice, WhatPolicyRefusesOfTheJobItRefusesOfEachWay) {
  Question question = OnH200s(kFile, 2, "tiny");
  question.policy.max_priority = 50;
  question.job.resources.priority = 60;
  const Ways ways = Find(question);
  EXPECT_TRUE(ways.fitting.empty());
  EXPECT_THAT(ways.asked_refused,
              HasSubstr("resources.priority: expected a priority from 0 to 50"));
}

// 7B in bf16: 12 bytes of each of 6.74 billion parameters, or a shard of them on each device.
TEST(Advice, WhatItsHostsCannotHoldIsLeftOutWithTheNumbers) {
  Question question = OnH200s(kFile, 2);
  const auto offloading = [](const Ways& ways) {
    return std::ranges::count_if(ways.fitting,
                                 [](const Way& way) { return way.job.offload_optimizer; });
  };
  const auto hosts_of = [&](int64_t gib) {
    question.device.host_memory_bytes = gib * kGiB;
    question.all = {question.device, question.device};
    return Find(question);
  };
  const auto all = offloading(Find(question));
  EXPECT_GT(all, 0);
  EXPECT_EQ(offloading(hosts_of(1000)), all);
  EXPECT_EQ(offloading(hosts_of(0)), all) << "not known";
  const Ways none = hosts_of(64);
  EXPECT_EQ(offloading(none), 0);
  const auto told = std::ranges::find_if(none.excluded, [](const Exclusion& exclusion) {
    return exclusion.reason.starts_with("the optimizer in host memory takes 37.");
  });
  ASSERT_NE(told, none.excluded.end());
  EXPECT_THAT(told->reason, HasSubstr("hosts of at most 64.00 GiB have room for 1 of its 2 ranks"));
  EXPECT_EQ(none.asked_refused, "");
  question.job.offload_optimizer = true;
  EXPECT_THAT(hosts_of(64).asked_refused, HasSubstr("the optimizer in host memory takes "));
}

TEST(Advice, BatchesThatCannotBeDividedAreAnError) {
  Question question = OnH200s(kFile, 4);
  question.job.train.micro_batch_size = 7;
  EXPECT_THAT(FindWays(question).error().message, HasSubstr("global_batch_size"));
}

// A whole site is no enumeration that anybody waits for.
TEST(Advice, ConsidersTensOfThousands) {
  constexpr int64_t kDevices = tests::kSanitized ? 4 : 16,
                    kConsidered = tests::kSanitized ? 1'000 : 10'000;
  std::string text = kFile;
  text.replace(text.find("64"), 2, "7680");
  Question question = OnH200s(text, kDevices);
  question.liberties = {Liberty::kLora, Liberty::kQlora, Liberty::kPrecision, Liberty::kOptimizer};
  const Ways ways = Find(question);
  EXPECT_GT(ways.considered, kConsidered);
  int64_t excluded = 0;
  for (const Exclusion& exclusion : ways.excluded) excluded += exclusion.ways;
  EXPECT_EQ(ways.considered, std::ssize(ways.fitting) + excluded) << "each is counted once";
  const std::vector<Way> front = ParetoFront(ways.fitting);
  ASSERT_FALSE(front.empty());
  EXPECT_LT(front.size(), 100u) << "an answer that people read";
  EXPECT_LE(front.front().time->total_seconds, ways.asked.time->total_seconds);
}

// Runs are asked for of the fastest 500.
TEST(EarlierTimes, WaysThatAreNotAskedForHaveTheirEnergyToo) {
  constexpr size_t kMany = 600;
  Ways ways;
  ways.asked.time = {.total_seconds = 1, .device_name = "NVIDIA H200"};
  for (size_t i = 0; i < kMany; ++i)
    ways.fitting.push_back({.time = {{.total_seconds = 10.0, .device_name = "NVIDIA H200"}}});
  size_t asked = 0;
  const PredictTimes predict = [&](const std::vector<TimeQuestion>& questions) {
    asked += questions.size();
    return TimesTold{.times = {questions.size(), ways.asked.time},
                     .powers = {{"NVIDIA H200", 600, 3}}};
  };
  TakeEarlierTimes({{.kind = job::DeviceKind::kCuda, .name = "NVIDIA H200"}}, predict, &ways);
  EXPECT_LT(asked, kMany);
  EXPECT_EQ(ways.asked.energy_joules(), 600);
  EXPECT_EQ(ways.fitting.front().energy_joules(), 600);
  EXPECT_EQ(ways.fitting.back().time->total_seconds, 10);
  EXPECT_EQ(ways.fitting.back().energy_joules(), 6000);
}

// Ways that cost the same in their loop but for memory.
TEST(EarlierTimes, AKnownStartPutsNoWayBeforeOneThatIsNotAskedFor) {
  constexpr size_t kMany = 600;
  const auto time = [](double loop, double start, int64_t runs) {
    return job::TimeEstimate{.total_seconds = loop + start,
                             .device_name = "NVIDIA H200",
                             .start_seconds = start,
                             .start_runs = runs};
  };
  Ways ways;
  ways.asked.time = time(5, 10, 0);
  for (size_t i = 0; i < kMany; ++i)
    ways.fitting.push_back({.time = time(5 + 0.001 * static_cast<double>(i), 10, 0)});
  ways.fitting[kMany - 2].job.name = "alike";  // of these two no run is asked for
  ways.fitting[kMany - 1].job.name = "of more";
  ways.fitting[kMany - 1].job.devices = 2;
  const PredictTimes predict = [&](const std::vector<TimeQuestion>& questions) {
    TimesTold told;
    for (size_t i = 0; i < questions.size(); ++i)
      told.times.push_back(time(6 + 0.001 * static_cast<double>(i), 1, 3));
    return told;
  };
  TakeEarlierTimes({{.kind = job::DeviceKind::kCuda, .name = "NVIDIA H200"}}, predict, &ways);
  std::map<std::string, double> totals;
  for (const Way& way : ways.fitting) {
    EXPECT_EQ(way.time->start_seconds, 1);
    totals[way.job.name] = way.time->total_seconds;
  }
  EXPECT_NEAR(totals["alike"], 5.598 + 1, 1e-9);
  EXPECT_NEAR(totals["of more"], 5.599 + 1, 1e-9);
}

}  // namespace
}  // namespace trainctl::advice
