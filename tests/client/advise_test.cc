#include "tests/client/advise_test.h"
#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <sstream>

#include "client/exit_code.h"
#include "client/show/output.h"
#include "common/base/file.h"
#include "common/estimate/memory_estimate.h"
#include "common/job/batch.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"
#include "tests/client/decoded_png.h"

namespace trainctl::client {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(AdviseTest, PrintsTheFrontWithWhatToType) {
  const Ended ended = Trainctl({"advise", File(), "--price", "2.50/GPUh"});
  EXPECT_EQ(ended.code, kExitOk) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("tiny on 2 × NVIDIA H200 (139.00 GiB): "));
  EXPECT_THAT(ended.out, HasSubstr("--devices 2"));
  EXPECT_THAT(ended.out, HasSubstr("PRICE"));
  EXPECT_THAT(ended.out, HasSubstr("Left out, "));
  EXPECT_THAT(ended.out, HasSubstr("trainctl submit " + File() + " CHANGES"));
  EXPECT_TRUE(coordinator_.submissions.empty());
}

// What the coordinator knows of earlier runs is shown in the place of what rates say.
TEST_F(AdviseTest, EarlierRunsAreBelieved) {
  v1::EarlierRunsResponse response;
  for (int i = 0; i < 500; ++i) {
    v1::DeviceRuns& runs = *response.add_jobs()->add_devices();
    runs.set_device_name("NVIDIA H200");
    runs.set_step_seconds(7);
    runs.set_runs(2);
  }
  coordinator_.earlier_runs = response;
  const Json ways = Ways({"advise", File(), "--all"});
  for (const Json& way : ways["ways"]) EXPECT_EQ(way["step_seconds"], 7) << way.dump();
  EXPECT_EQ(ways["as_asked"]["earlier_runs"], 2);
}

TEST_F(AdviseTest, RunsThatOthersSlowedAreNotCalledMeasured) {
  coordinator_.answer_earlier_runs = [](const v1::EarlierRunsRequest& request) {
    v1::EarlierRunsResponse response;
    for (const auto& asked : request.jobs()) {
      const int64_t micro = *job::FromJson(asked.job_json())->train.micro_batch_size;
      auto& answer = *response.add_jobs();
      if (micro == 1) continue;
      v1::DeviceRuns& runs = *answer.add_devices();
      runs.set_device_name("NVIDIA H200");
      runs.set_step_seconds(micro == 2 ? 10 : 0.001);
      runs.set_runs(2);
      runs.set_disturbed(micro == 2);
    }
    return response;
  };
  const std::string out = Trainctl({"advise", File(), "--all"}).out;
  EXPECT_THAT(out, HasSubstr("TIME FROM"));
  EXPECT_THAT(out, HasSubstr("  rates × "));
  EXPECT_THAT(out, HasSubstr("  2 runs  "));
  EXPECT_THAT(out, HasSubstr(" (2 runs, disturbed: 10 s a step)  "));
  EXPECT_THAT(out, HasSubstr("Rates × N: the nearest ways that were measured took N times"));
  EXPECT_THAT(out, HasSubstr("Disturbed: other work on the hosts of these runs slowed them; "));
  const Json ways = Ways({"advise", File(), "--all"});
  const Json& asked = ways["as_asked"];
  EXPECT_EQ(asked["disturbed"], true);
  EXPECT_EQ(asked["earlier_runs"], 2);
  EXPECT_EQ(asked["measured_step_seconds"], 10);
  EXPECT_LT(asked["step_seconds"], 1) << "it is compared by what a host of its own would take";
  EXPECT_LT(asked["rates_factor"], 1);
  for (const Json& way : ways["ways"]) {
    if (way["time_from"] != "2 runs") continue;
    EXPECT_EQ(way["measured_total_seconds"], way["total_seconds"]);
    EXPECT_EQ(way["rates_factor"], nullptr);
  }
  const std::string svg = Trainctl({"advise", File(), "-o", "svg"}).out;
  EXPECT_THAT(svg, HasSubstr(">measured in earlier runs<"));
}

TEST_F(AdviseTest, SaysWhatALimitOfAWayIsFor) {
  const std::string why = "Under its gpu_memory_limit fsdp reduces gradients in each micro step";
  EXPECT_THAT(Trainctl({"advise", File(), "--all"}).out, Not(HasSubstr(why))) << "nothing to save";
  job::Inspection inspection =
      *job::InspectionFromJson(coordinator_.inspection.value().inspection_json());
  inspection.model.layers = 16;
  inspection.model.hidden = 1024;
  inspection.model.intermediate = 4096;
  inspection.model.heads = inspection.model.kv_heads = 16;
  inspection.model.head_dim = 64;
  coordinator_.inspection.value().set_inspection_json(job::ToJson(inspection));
  const std::string out = Trainctl({"advise", File(), "--all"}).out;
  EXPECT_THAT(out, HasSubstr(" --resources.gpu_memory_limit "));
  EXPECT_THAT(out, HasSubstr(why));
}

TEST_F(AdviseTest, SaysWhyWaysAreNotShown) {
  const Json ways = Ways({"advise", File()});
  const std::string as_it_is = "(as the file has it)";
  ASSERT_THAT(Trainctl({"advise", File()}).out, HasSubstr(as_it_is)) << "it has a row of its own";
  const bool is_last = std::ranges::none_of(
      ways["ways"], [](const Json& way) { return way["overrides"].get<std::string>().empty(); });
  const int64_t shown = std::ssize(ways["ways"]) + (is_last ? 1 : 0);
  const int64_t hidden = ways["fit"].get<int64_t>() - shown;
  const int64_t left_out = ways["considered"].get<int64_t>() - ways["fit"].get<int64_t>();
  ASSERT_GT(hidden, 0);
  ASSERT_GT(left_out, 0);
  EXPECT_THAT(Trainctl({"advise", File()}).out,
              HasSubstr("\nNot shown: " + std::to_string(hidden) +
                        " slower and no smaller than one above (--all shows them); " +
                        std::to_string(left_out) + " left out.\nLeft out, "));
  EXPECT_THAT(Trainctl({"advise", File(), "--all"}).out,
              HasSubstr("\nNot shown: " + std::to_string(left_out) + " left out.\n"));
}

TEST_F(AdviseTest, TheOptimizerInHostMemoryIsOfferedWhereHostsCanHoldIt) {
  const auto offered = [this](int64_t bytes) {
    for (v1::WorkerView& worker : coordinator_.workers)
      worker.mutable_device()->set_host_memory_bytes(bytes);
    return Trainctl({"advise", File(), "--all"}).out;
  };
  EXPECT_THAT(offered(int64_t{1} << 30), HasSubstr("--offload_optimizer true"));
  const std::string out = offered(1 << 19);
  EXPECT_THAT(out, Not(HasSubstr("--offload_optimizer true")));
  EXPECT_THAT(out, HasSubstr("hosts of at most 512.00 KiB have room for 0 of its "));
  EXPECT_THAT(Trainctl({"submit", File(), "--dry-run", "--offload_optimizer", "true"}).out,
              HasSubstr("hosts of at most 512.00 KiB have room for 0 of its 1 rank"))
      << "in the same words";
}

TEST_F(AdviseTest, MemoryStandsByKindWhereThatIsAsked) {
  EXPECT_THAT(Trainctl({"advise", File()}).out, Not(HasSubstr("PARAMETERS")));
  const std::string out = Trainctl({"advise", File(), "--by-kind"}).out;
  EXPECT_THAT(out, HasSubstr("PEAK A DEVICE  PARAMETERS"));
  EXPECT_THAT(out, HasSubstr("OPTIMIZER"));
  EXPECT_THAT(out, HasSubstr("OTHER  DEVICES"));
}

// "4.77 MiB".
double BytesOf(const std::string& cell) {
  std::istringstream words(cell);
  double number = 0;
  std::string unit;
  words >> number >> unit;
  for (const char* larger : {"B", "KiB", "MiB", "GiB"}) {
    if (unit == larger) return number;
    number *= 1024;
  }
  ADD_FAILURE() << cell;
  return 0;
}

// Of the texts of a table whose cells are at least two spaces apart.
std::vector<std::string> CellsOf(const std::string& line) {
  std::vector<std::string> cells;
  for (size_t begin = line.find_first_not_of(' '); begin < line.size();) {
    const size_t end = std::min(line.find("  ", begin), line.size());
    cells.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(' ', end);
  }
  return cells;
}

TEST_F(AdviseTest, TheKindsOnTheDeviceSumToThePeak) {
  std::istringstream lines(Trainctl({"advise", File(), "--by-kind", "--all"}).out);
  std::vector<std::string> headers;
  size_t rows = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells = CellsOf(line);
    if (!cells.empty() && cells.front() == "TIME") headers = cells;
    if (headers.empty() || cells.size() != headers.size() || cells == headers) continue;
    ++rows;
    double sum = 0, peak = 0, rounding = 0;
    for (size_t i = 2; headers[i] != "DEVICES"; ++i) {
      const double bytes = BytesOf(cells[i]);
      if (headers[i] == "PEAK A DEVICE") peak = bytes;
      if (headers[i] == "PEAK A DEVICE" || headers[i].ends_with("(HOST)")) continue;
      sum += bytes;
      rounding += 0.01 * 1024 * 1024;
    }
    EXPECT_GT(peak, 100'000);
    EXPECT_NEAR(sum, peak, rounding) << line;
  }
  EXPECT_GT(rows, 3u);
}

TEST_F(AdviseTest, EnergyIsThatOfAllDevicesAtTheMeasuredPowerOrSaidToBeUnknown) {
  const Ended unknown = Trainctl({"advise", File()});
  EXPECT_THAT(unknown.out, HasSubstr("Energy is not known: no run on NVIDIA H200 has ended yet "
                                     "that measured power."));
  EXPECT_EQ(Ways({"advise", File()})["ways"][0]["energy_joules"], nullptr);
  v1::EarlierRunsResponse response;
  v1::DeviceRuns& same = *response.add_jobs()->add_devices();  // of the job as asked
  same.set_device_name("NVIDIA H200");
  same.set_step_seconds(7);
  same.set_runs(2);
  same.set_watts(500);
  v1::DevicePower& power = *response.add_powers();
  power.set_device_name("NVIDIA H200");
  power.set_watts(600);
  power.set_runs(3);
  coordinator_.earlier_runs = response;
  const Json ways = Ways({"advise", File(), "--all"});
  const Json& asked = ways["as_asked"];
  EXPECT_NEAR(asked["energy_joules"], 500 * asked["total_seconds"].get<double>(), 1e-6);
  const Json& other = ways["ways"].back();
  EXPECT_NE(other["overrides"], "");
  EXPECT_NEAR(other["energy_joules"],
              600 * other["total_seconds"].get<double>() * other["devices"].get<double>(), 1e-6);
  const std::string out = Trainctl({"advise", File()}).out;
  EXPECT_THAT(out, HasSubstr("ENERGY"));
  EXPECT_THAT(out, testing::ContainsRegex("[0-9]\\.[0-9][0-9] k?Wh "));
  EXPECT_THAT(out, HasSubstr("at the power that earlier runs measured on NVIDIA H200"));
}

TEST_F(AdviseTest, LibertiesAddWaysAndWrongOnesAreNamed) {
  const int64_t strict = Ways({"advise", File()})["considered"];
  const int64_t free = Ways({"advise", File(), "--allow", "lora,qlora,optimizer"})["considered"];
  EXPECT_GT(free, 3 * strict);
  const Ended wrong = Trainctl({"advise", File(), "--allow", "lora,speed"});
  EXPECT_NE(wrong.code, kExitOk);
  EXPECT_THAT(wrong.err, HasSubstr("'speed': expected some of lora, qlora"));
  const Ended price = Trainctl({"advise", File(), "--price", "cheap"});
  EXPECT_THAT(price.err, HasSubstr("--price: 'cheap'"));
}

TEST_F(AdviseTest, ThePriceIsThatOfAllDevicesForTheWholeRun) {
  const Json ways = Ways({"advise", File(), "--all", "--price", "2.50/GPUh"})["ways"];
  bool has_two = false;
  for (const Json& way : ways) {
    const double devices = way["devices"], seconds = way["total_seconds"];
    EXPECT_NEAR(way["price"], 2.5 * devices * seconds / 3600, 1e-9) << way.dump();
    has_two |= devices == 2;
  }
  EXPECT_TRUE(has_two);
  const Json free = Ways({"advise", File(), "--price", "0"})["ways"];
  EXPECT_EQ(free[0]["price"], 0);
  EXPECT_FALSE(Ways({"advise", File()})["ways"][0].contains("price"));
  // What is printed is what is counted: 3,600,000 seconds on one device are 1,000 hours.
  v1::EarlierRunsResponse response;
  for (int i = 0; i < 500; ++i) {
    v1::DeviceRuns& runs = *response.add_jobs()->add_devices();
    runs.set_device_name("NVIDIA H200");
    runs.set_step_seconds(3600);
    runs.set_runs(1);
  }
  coordinator_.earlier_runs = response;
  const Json slow = Ways({"advise", File(), "--price", "2.50/GPUh"})["ways"][0];
  char text[64];
  std::snprintf(text, sizeof text, " %.2f ",
                slow["total_seconds"].get<double>() / 3600 * slow["devices"].get<double>() * 2.5);
  const std::string out = Trainctl({"advise", File(), "--price", "2.50/GPUh"}).out;
  EXPECT_THAT(out, HasSubstr(text));
}

TEST_F(AdviseTest, DrawnItHasTheFrontByNumberAndTheLimit) {
  const std::string svg = Trainctl({"advise", File(), "-o", "svg"}).out;
  EXPECT_THAT(svg, HasSubstr("tiny on 2 × NVIDIA H200"));
  EXPECT_THAT(svg, HasSubstr("limit 139.00 GiB"));
  EXPECT_THAT(svg, HasSubstr(">as it is<"));
  EXPECT_THAT(svg, Not(HasSubstr("measured in earlier runs")));
  EXPECT_THAT(svg, HasSubstr(">1  "));
  EXPECT_THAT(svg, HasSubstr("--devices 2"));
  EXPECT_EQ(Trainctl({"advise", File(), "-o", folder_ + "/ways.svg"}).code, kExitOk);
  EXPECT_EQ(*base::ReadFile(folder_ + "/ways.svg", 1 << 20), svg);
  EXPECT_EQ(Trainctl({"advise", File(), "-o", folder_ + "/ways.svg"}).code, kExitFailure);
  EXPECT_EQ(Trainctl({"advise", File(), "-o", folder_ + "/ways.png"}).code, kExitOk);
  EXPECT_EQ(DecodePng(*base::ReadFile(folder_ + "/ways.png", 1 << 20)).width, 1800u);
  EXPECT_EQ(Trainctl({"advise", File(), "-o", "gif"}).code, kExitUsage);
  EXPECT_EQ(Trainctl({"advise", File(), "-o", "svg", "--try", "1"}).code, kExitUsage);
}

TEST_F(AdviseTest, WithoutASiteThereIsNoAdvice) {
  coordinator_.unreachable = true;
  EXPECT_EQ(Trainctl({"advise", File()}).code, kExitUnreachable);
}

// Each way's own prediction stands beside its own measurement.
TEST_F(AdviseTest, ATrialShowsWhatWasPredictedBesideWhatWasMeasured) {
  v1::EarlierRunsResponse earlier;  // of the job as asked: others are scaled
  v1::DeviceRuns& runs = *earlier.add_jobs()->add_devices();
  runs.set_device_name("NVIDIA H200");
  runs.set_step_seconds(7);
  runs.set_runs(1);
  coordinator_.earlier_runs = earlier;
  const Json ways = Ways({"advise", File()})["ways"];
  ASSERT_GE(ways.size(), 2u);
  coordinator_.watchings.push_back({.told = {FinishedJob("j1", "tiny-way-1", "SUCCEEDED"),
                                             FinishedJob("j2", "tiny-way-2", "SUCCEEDED")}});
  for (const char* id : {"j1", "j2"}) coordinator_.comparison.add_jobs()->set_id(id);
  const auto add = [this](const char* key, double first, double second) {
    v1::CompareRow& row = *coordinator_.comparison.add_rows();
    row.set_key(key);
    for (const double value : {first, second}) row.add_values()->set_number(value);
  };
  add("step_seconds", 1.25, 2.5);
  add("memory_peak_allocated_bytes", 1 << 30, 2.0 * (1 << 30));
  const std::string out = Trainctl({"advise", File(), "--try", "2", "-o", "json"}).out;
  const Json points = Json::parse(out)["points"];  // one document
  ASSERT_EQ(points.size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(points[i]["step_seconds"], 1.25 * static_cast<double>(i + 1));
    EXPECT_EQ(points[i]["peak_allocated_bytes"], static_cast<double>(i + 1) * (1 << 30));
    EXPECT_EQ(points[i]["predicted_step_seconds"], ways[i]["step_seconds"]) << i;
    EXPECT_EQ(points[i]["predicted_peak_bytes"], ways[i]["peak_allocated_bytes"]) << i;
  }
  EXPECT_NE(ways[0]["peak_allocated_bytes"], ways[1]["peak_allocated_bytes"]);
}

TEST_F(AdviseTest, AnExperimentOfAFileThatIsNoLabIsRefused) {
  const Ended ended = Trainctl({"advise", File(), "--experiment", "one"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_THAT(ended.err, HasSubstr("job.json is no lab file, so it has no experiment 'one'"));
}

TEST_F(AdviseTest, AnExperimentThatTheLabLacksIsRefusedWithThoseThatItHas) {
  const std::string lab = folder_ + "/lab.json";
  ASSERT_TRUE(
      base::WriteFileAtomically(lab, R"({"base": {"version": 1, "model": {"path": "/models/tiny"},
                       "data": {"path": "rows.json"}, "train": {"micro_batch_size": 1}},
                       "experiments": [{"name": "two", "set": {}}, {"name": "four", "set": {}}]})")
          .ok());
  const std::string err = Trainctl({"advise", lab, "--experiment", "fuor"}).err;
  EXPECT_THAT(err, HasSubstr("no experiment 'fuor': did you mean 'four'? (there are two, four)"));
}

TEST_F(AdviseTest, ATrialRunsItsStepsWhereTheRowsMakeFewer) {
  coordinator_.watchings.push_back({.told = {FinishedJob("j1", "tiny-way-1", "SUCCEEDED")}});
  const Ended ended = Trainctl({"advise", File(), "--try", "1", "--steps", "200"});
  ASSERT_EQ(coordinator_.submissions.size(), 1u) << ended.err;
  const auto job = job::FromJson(coordinator_.submissions.back().jobs(0).job_json());
  ASSERT_TRUE(job.ok());
  const auto batch = job::PlanBatch(*job);
  ASSERT_TRUE(batch.ok());
  EXPECT_EQ(job::TotalSteps(*job, *batch, 1000), 200) << "one epoch has 125 steps";
}

TEST_F(AdviseTest, WhatNoTrialCanHaveIsRefusedWithItsBounds) {
  const auto refused = [this](const std::string& option, const std::string& value) {
    std::vector<std::string> words = {"advise", File(), option, value};
    if (option == "--steps") words.insert(words.end(), {"--try", "1"});
    const Ended ended = Trainctl(words);
    EXPECT_EQ(ended.code, kExitUsage) << option << " " << value;
    return ended.err;
  };
  for (const char* tried : {"0", "33", "99999999999999999999", "many"})
    EXPECT_THAT(refused("--try", tried), HasSubstr("expected a whole number from 1 to 32"));
  for (const char* steps : {"0", "10001", "1e9"})
    EXPECT_THAT(refused("--steps", steps), HasSubstr("expected a whole number from 1 to 10,000"));
  for (const char* price : {"1000001", "nan", "2/day"})
    EXPECT_THAT(refused("--price", price), HasSubstr("expected a number from 0 to 1,000,000"));
  EXPECT_TRUE(coordinator_.submissions.empty());
}

// All that a job may write, trace, evaluate or be expected to end as.
constexpr const char* kKeepingJob = R"({"version": 1, "name": "tiny",
 "model": {"path": "/models/tiny", "init": "random"}, "precision": "bf16-true",
 "data": {"path": "/data/rows.json", "split": "train", "VALIDATION"},
 "train": {"global_batch_size": 8, "micro_batch_size": 2, "max_seq_length": 128},
 "eval": {"every_steps": 2, "max_rows": 4, "prompts": ["Once upon"]},
 "output": {"dir": "/out", "save": "final"},
 "checkpoint": {"every_steps": 3}, "profile": {"steps": 2, "skip": 1},
 "track": ["tensorboard"], "expect": "OOM"})";

std::string KeepingJob(const std::string& validation) {
  std::string text = kKeepingJob;
  return text.replace(text.find("\"VALIDATION\""), 12, validation);
}

TEST_F(AdviseTest, ATrialKeepsNothing) {
  for (const char* validation : {"\"val_split_fraction\": 0.1", "\"val_path\": \"/data/test.json\"",
                                 "\"val_split\": \"test\""}) {
    ASSERT_TRUE(base::WriteFileAtomically(File(), KeepingJob(validation)).ok());
    const Json ways = Ways({"advise", File()});
    ASSERT_GE(ways["ways"].size(), 2u);
    coordinator_.submissions.clear();
    coordinator_.watchings.push_back({.told = {FinishedJob("j1", "tiny-way-1", "SUCCEEDED"),
                                               FinishedJob("j2", "tiny-way-2", "SUCCEEDED")}});
    const Ended ended = Trainctl({"advise", File(), "--try", "2", "--steps", "5"});
    ASSERT_EQ(coordinator_.submissions.size(), 1u) << ended.err;
    const v1::SubmitRequest& request = coordinator_.submissions.back();
    ASSERT_EQ(request.jobs_size(), 2);
    EXPECT_EQ(request.max_parallel(), 1) << "none beside another";
    for (const v1::JobSubmission& submission : request.jobs()) {
      const base::Result<job::JobSpec> job = job::FromJson(submission.job_json());
      ASSERT_TRUE(job.ok());
      EXPECT_EQ(job::CheckJob(*job).size(), 0u) << job::Format(job::CheckJob(*job), "");
      EXPECT_FALSE(job->exclusive) << "as the job itself is not";
      job::JobSpec bare = *job;
      bare.data = {.path = job->data.path, .split = job->data.split};
      bare.eval = {};
      bare.output = {};
      bare.checkpoint = {};
      bare.profile.reset();
      bare.track.clear();
      bare.expect.reset();
      bare.train.max_steps = bare.train.epochs = 5;
      EXPECT_EQ(job::ToJson(*job), job::ToJson(bare));
    }
  }
}

}  // namespace
}  // namespace trainctl::client
