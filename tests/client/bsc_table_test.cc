// trainctl top --columns bsc: a row a host, as the monitor of BSC's clusters has them.
#include "client/top/bsc_table.h"

#include "client/exit_code.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

using BscTest = ClientTest;

TEST(BscColumns, HaveANodeARowAndItsGpusBesideIt) {
  SiteView site;
  site.workers = {GpuWorker("alpha/0", "BUSY", 98), GpuWorker("alpha/1", "READY", 0),
                  CpuWorker("beta/0", "READY")};
  site.workers[1].mutable_device_sample()->set_memory_used_bytes(int64_t{7} << 30);
  EXPECT_EQ(
      BscTable(site).Render({}),
      "NODE   NCPUS  CPU %  AVAIL MEM   FREE MEM  MEM %    POWER  GPU0 %  MEM0 %  GPU1 %  MEM1 %\n"
      "alpha      8     25  16.00 GiB  12.00 GiB     25  1,224 W      98    31.4       0       5\n"
      "beta       8     25  16.00 GiB  12.00 GiB     25\n");
}

TEST(BscColumns, WhatIsNotKnownIsEmpty) {
  SiteView site;
  site.workers = {CpuWorker("beta/0", "LOST")};
  site.workers[0].clear_host_sample();
  const std::string text = BscTable(site).Render({});
  EXPECT_EQ(text.substr(text.find('\n') + 1), "beta\n");
}

TEST_F(BscTest, PrintsTheColumnsOfBscOnceAndKnowsNoOthers) {
  const Ended ended = Trainctl({"top", "--columns", "bsc"});
  EXPECT_EQ(ended.code, kExitOk);
  EXPECT_EQ(ended.out.find("NODE "), 0u) << ended.out;
  const Ended other = Trainctl({"top", "--columns", "slurm"});
  EXPECT_EQ(other.code, kExitUsage);
  EXPECT_NE(other.err.find("top --columns slurm: the set that is known is bsc"), std::string::npos);
}

TEST_F(BscTest, ScriptsGetTheSameTable) {
  coordinator_.workers = {GpuWorker("alpha/0", "BUSY", 98), GpuWorker("alpha/1", "READY", 0)};
  const Json json = Json::parse(Trainctl({"top", "--columns", "bsc", "-o", "json"}).out);
  const Json& node = json["nodes"][0];
  EXPECT_EQ(node["node"], "alpha");
  EXPECT_EQ(node["gpus"][0]["utilization_percent"], 98);
  EXPECT_EQ(node["gpus"].size(), 2u);
  EXPECT_EQ(Trainctl({"top", "--columns", "bsc", "-o", "md"}).out.find("| NODE | NCPUS |"), 0u);
}

}  // namespace
}  // namespace trainctl::client
