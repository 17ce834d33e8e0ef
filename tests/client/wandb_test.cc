#include <limits>

#include "client/exit_code.h"
#include "client/files/wandb_records.h"
#include "common/job/job_json.h"
#include "common/track/proto_wire.h"
#include "tests/client/client_test.h"
#include "tests/client/scratch_folder.h"
#include "tests/client/trackers.h"

namespace trainctl::client {
namespace {

int64_t NumberAt(const std::string& text, size_t at, int bytes) {
  int64_t number = 0;
  for (int i = bytes - 1; i >= 0; --i)
    number = number << 8 | static_cast<unsigned char>(text[at + static_cast<size_t>(i)]);
  return number;
}

// The records' sizes, out of all their pieces.
std::vector<size_t> SizesIn(const std::string& file) {
  std::vector<size_t> sizes;
  size_t size = 0;
  for (size_t at = 7; at < file.size();) {
    const size_t left = 32768 - at % 32768;
    if (left < 7) {
      at += left;
      continue;
    }
    const auto length = static_cast<size_t>(NumberAt(file, at + 4, 2));
    EXPECT_LE(7 + length, left) << "a piece lies in one block";
    EXPECT_EQ(NumberAt(file, at, 4), track::Crc32(file.substr(at + 6, length + 1)));
    size += length;
    if (file[at + 6] == 1 || file[at + 6] == 4) sizes.push_back(std::exchange(size, 0));
    at += 7 + length;
  }
  return sizes;
}

// Each length once, so that records end at every place before the end of a block.
TEST(WandbLog, RecordsOfEveryLengthGoThroughTheBlocks) {
  WandbLog log;
  std::vector<size_t> wanted;
  for (size_t length = 1; length < 40; ++length) log.AddSummary({{"k", std::string(length, '1')}});
  for (size_t length = 32'650; length < 32'720; ++length)
    log.AddSummary({{"k", std::string(length, '1')}});
  log.AddSummary({{"k", std::string(100'000, '1')}});
  const std::vector<size_t> sizes = SizesIn(log.Take());
  ASSERT_EQ(sizes.size(), 1u + 39 + 70 + 1);
  for (size_t i = 2; i < sizes.size(); ++i) EXPECT_GT(sizes[i], sizes[i - 1]);
  EXPECT_GT(sizes.back(), 100'000u);
}

class WandbTest : public ClientTest {
 protected:
  WandbTest() {
    coordinator_.jobs = {FinishedJob("j1", "full \"run\"", "SUCCEEDED"),
                         FinishedJob("j2", "lora", "OOM_GPU")};
    for (v1::JobView& view : coordinator_.jobs) {
      view.set_group("g1");
      view.set_group_name("my/lab");
      job::JobSpec job{
          .name = "x", .model = {.path = "/models/tiny"}, .data = {.path = "/rows.json"}};
      job.train.micro_batch_size = 2;
      coordinator_.details[view.id()].set_job_json(job::ToJson(job));
    }
    coordinator_.jobs[0].set_message("all steps done");
    coordinator_.jobs[0].add_tags("lab=2");
    for (int64_t step = 0; step < 1000; ++step) AddPoint("loss", step, 1.0 / (1.0 + step));
    AddPoint("val_loss", 1, std::numeric_limits<double>::quiet_NaN());
    AddPoint("memory_params_bytes", 1, 1024);
    coordinator_.job_points["j1"].back().set_rank(1);
    coordinator_.job_points["j1"].back().set_phase("after_forward");
  }

  void AddPoint(const std::string& name, int64_t step, double value) {
    v1::MetricPoint& point = coordinator_.job_points["j1"].emplace_back();
    point.set_name(name);
    point.set_step(step);
    point.set_value(value);
    point.set_time(951'000'000 + 1'000'000 * step);
  }

  Ended Export() { return Trainctl({"export", "g1", "--wandb", folder_ / "wandb"}); }

  ScratchFolder folder_;
};

TEST_F(WandbTest, EachJobIsAnOfflineRun) {
  const Ended ended = Export();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_NE(ended.out.find("wandb sync " + (folder_ / "wandb/offline-run-*\n")), std::string::npos)
      << ended.out;
  const std::string id = "-" + std::to_string(coordinator_.jobs[0].submitted_at());
  const std::string file =
      folder_.Read("wandb/offline-run-19700101_001550-j1" + id + "/run-j1" + id + ".wandb");
  EXPECT_TRUE(file.starts_with(":W&B\xE1\xBE"));
  EXPECT_EQ(SizesIn(file).size(), 1u + 1 + 1000 + 1 + 1);  // header, run, rows, summary, exit
}

TEST_F(WandbTest, TheRealWandbUploadsIt) {
  const std::string python = TrackersPython();
  if (python.empty()) GTEST_SKIP() << "no wandb: tests/oracles trackers makes it ready";
  ASSERT_EQ(Export().code, 0);
  EXPECT_EQ(PrintedBy(python, "read_wandb.py", folder_ / "wandb"),
            R"(run j1 my_lab g1 full "run")"
            "\n"
            R"(notes all steps done host alpha tags lab=2 SUCCEEDED)"
            "\n"
            R"(config train.micro_batch_size 2)"
            "\n"
            R"(config model.path "/models/tiny")"
            "\n"
            R"(row {"_runtime": 1, "_step": 0, "_timestamp": 951, "loss": 1})"
            "\n"
            R"(row {"_runtime": 2, "_step": 1, "_timestamp": 952, "loss": 0.5, )"
            R"("memory_params_bytes/rank_1/after_forward": 1024, "val_loss": "NaN"})"
            "\n"
            R"(row {"_runtime": 1000, "_step": 999, "_timestamp": 1950, "loss": )"
            R"(0.001})"
            "\n"
            R"(rows 1000 exit 0)"
            "\n"
            R"(summary {"_step": 999, "loss": 0.001, )"
            R"("memory_params_bytes/rank_1/after_forward": 1024, "outcome": )"
            R"("SUCCEEDED", "val_loss": "NaN"})"
            "\n"
            R"(run j2 my_lab g1 lora)"
            "\n"
            R"(notes None host alpha tags OOM_GPU)"
            "\n"
            R"(config train.micro_batch_size 2)"
            "\n"
            R"(config model.path "/models/tiny")"
            "\n"
            R"(rows 0 exit 1)"
            "\n"
            R"(summary {"outcome": "OOM_GPU"})"
            "\n");
}

}  // namespace
}  // namespace trainctl::client
