#include "client/top/spark_line.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/client/fake_coordinator.h"

namespace trainctl::client {
namespace {

void Tell(const std::vector<int32_t>& percents, google::protobuf::RepeatedField<int32_t>* told) {
  told->Assign(percents.begin(), percents.end());
}

TEST(SparkLine, IsOfWhatTheCoordinatorKeptOfEachDeviceAndHost) {
  v1::ListResponse listed;
  *listed.add_workers() = CpuWorker("alpha/0", "BUSY");
  v1::LoadHistory& history = *listed.mutable_workers(0)->mutable_load_history();
  Tell({-1, -1, -1, -1, -1, 0, 100, -1, 50, 100}, history.mutable_device_percent());
  Tell({0, 100}, history.mutable_host_percent());
  const SiteView site = SiteViewOf("s", 1, listed, {});
  EXPECT_EQ(SparkLine(site.loads.at("alpha/0"), true), "     ▁█ ▅█");
  EXPECT_EQ(SparkLine(site.loads.at("alpha/0"), false), "     _# =#");
  EXPECT_EQ(SparkLine(site.loads.at("alpha"), true), "        ▁█") << "of fewer half minutes";
}

TEST(SparkLine, OneHalfMinuteIsNoCurve) {
  EXPECT_EQ(SparkLine({std::nullopt, 50}, true), "");
  EXPECT_EQ(SparkLine({}, true), "");
}

}  // namespace
}  // namespace trainctl::client
