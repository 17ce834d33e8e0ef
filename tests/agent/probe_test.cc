#include "worker/agent/probe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/agent/fake_gpu_library.h"

namespace trainctl::agent {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using tests::FakeDriver;

const HostFacts kGoodHost = {.host = "gpu1",
                             .cores = 64,
                             .memory_bytes = int64_t{512} << 30,
                             .cgroup = "v2",
                             .cgroup_leaf = true,
                             .shm_bytes = int64_t{64} << 30,
                             .memlock_bytes = -1,
                             .nofile = 1 << 20};

json ProbeOf(const HostFacts& host, FakeDriver& driver) {
  return json::parse(
      Probe(host, std::unique_ptr<GpuLibrary>(std::make_unique<tests::FakeGpuLibrary>(driver))));
}

// The texts of the checks with a verdict, joined.
std::string Texts(const json& probe, const std::string& verdict) {
  std::string texts;
  for (const json& check : probe["checks"]) {
    if (check["verdict"] == verdict) texts += check["text"].get<std::string>() + "\n";
  }
  return texts;
}

TEST(Probe, AFitHostIsFit) {
  FakeDriver driver;
  driver.gpus.push_back({1, "GPU-bbbb", "NVIDIA H200", int64_t{140} << 30, 9, 0});
  const json probe = ProbeOf(kGoodHost, driver);
  EXPECT_EQ(Texts(probe, "failure"), "");
  EXPECT_EQ(Texts(probe, "warning"), "");
  EXPECT_EQ(probe["driver"], "580.95.05");
  EXPECT_EQ(probe["gpus"].size(), 2u);
  EXPECT_EQ(probe["gpus"][0]["bf16"], true);
  EXPECT_EQ(probe["gpus"][0]["compute_capability"], "9.0");
  EXPECT_EQ(probe["links"], json::array({{{"from", 0}, {"to", 1}, {"link", "NVLink"}}}));
}

TEST(Probe, RefusesAV100InPlainWords) {
  FakeDriver driver;
  driver.gpus = {{0, "GPU-aaaa", "Tesla V100", int64_t{32} << 30, 7, 0}};
  EXPECT_THAT(Texts(ProbeOf(kGoodHost, driver), "failure"),
              HasSubstr("V100) has compute capability 7.0, but CUDA 13 needs 7.5"));
}

TEST(Probe, SaysOfEachGpuWhetherAWorkerCanUseIt) {
  FakeDriver driver;
  driver.gpus = {{0, "GPU-aaaa", "Tesla V100", int64_t{32} << 30, 7, 0},
                 {1, "GPU-bbbb", "NVIDIA H200", int64_t{140} << 30, 9, 0}};
  json probe = ProbeOf(kGoodHost, driver);
  EXPECT_THAT(probe["gpus"][0]["unfit"].get<std::string>(), HasSubstr("compute capability 7.0"));
  EXPECT_EQ(probe["gpus"][1]["unfit"], "");
  driver.version = "550.54";
  probe = ProbeOf(kGoodHost, driver);
  EXPECT_THAT(probe["gpus"][1]["unfit"].get<std::string>(), HasSubstr("driver is 550.54"));
}

TEST(Probe, WarnsOfAGpuWithoutBf16) {
  FakeDriver driver;
  driver.gpus = {{0, "GPU-aaaa", "Tesla T4", int64_t{16} << 30, 7, 5}};
  const json probe = ProbeOf(kGoodHost, driver);
  EXPECT_THAT(Texts(probe, "warning"), HasSubstr("T4, 16.00 GiB) has no bf16"));
  EXPECT_EQ(probe["gpus"][0]["bf16"], false);
}

TEST(Probe, FailsAnOldDriver) {
  FakeDriver driver;
  driver.version = "535.104";
  EXPECT_THAT(Texts(ProbeOf(kGoodHost, driver), "failure"),
              HasSubstr("535.104, but CUDA 13 needs 580"));
}

TEST(Probe, NamesForeignProcesses) {
  FakeDriver driver;
  driver.processes = {{4711, int64_t{1} << 30}};
  const json probe = ProbeOf(kGoodHost, driver);
  EXPECT_THAT(Texts(probe, "warning"), HasSubstr("processes 4711"));
  EXPECT_EQ(probe["gpus"][0]["processes"][0]["pid"], 4711);
}

TEST(Probe, WarnsOfSmallLimits) {
  FakeDriver driver;
  HostFacts host = kGoodHost;
  host.shm_bytes = 64 << 20;
  host.memlock_bytes = 8 << 20;
  host.nofile = 1024;
  const std::string warnings = Texts(ProbeOf(host, driver), "warning");
  EXPECT_THAT(warnings, HasSubstr("--shm-size"));
  EXPECT_THAT(warnings, HasSubstr("ulimit -l unlimited"));
  EXPECT_THAT(warnings, HasSubstr("only 1024 files"));
}

TEST(Probe, AHostWithoutGpusCanTrainOnItsCpu) {
  const json probe =
      json::parse(Probe(kGoodHost, base::Error{base::Code::kNotFound, "no NVIDIA driver here"}));
  EXPECT_TRUE(probe["driver"].is_null());
  EXPECT_TRUE(probe["gpus"].empty());
  EXPECT_THAT(Texts(probe, "warning"), HasSubstr("jobs run on CPU slots"));
  const json broken = json::parse(
      Probe(kGoodHost, base::Error{base::Code::kUnavailable, "the NVIDIA driver does not answer"}));
  EXPECT_THAT(Texts(broken, "failure"), HasSubstr("does not answer"));
}

TEST(Probe, ReadsThisHost) {
  const HostFacts facts = ReadHostFacts();
  EXPECT_GT(facts.cores, 0);
  EXPECT_GT(facts.memory_bytes, 0);
  EXPECT_NE(facts.host, "");
}

}  // namespace
}  // namespace trainctl::agent
