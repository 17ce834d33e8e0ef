#include "client/show/format.h"
#include "client/top/device_rows.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

// Two GPUs, of which somebody uses the second beside the site.
SiteView SiteWithAForeigner() {
  SiteView site;
  for (const char* name : {"alpha/0", "alpha/1"}) {
    v1::WorkerView worker = CpuWorker(name, "READY");
    worker.mutable_device()->set_kind("cuda");
    worker.mutable_device()->set_memory_bytes(int64_t{140} << 30);
    worker.mutable_device_sample()->set_memory_used_bytes(int64_t{20} << 30);
    site.workers.push_back(worker);
  }
  v1::ForeignProcess* process = site.workers[1].mutable_device_sample()->add_foreign();
  process->set_pid(4711);
  process->set_user("bo");
  process->set_program("python");
  process->set_memory_bytes(int64_t{19} << 30);
  site.workers[1].mutable_device_sample()->add_foreign()->set_pid(12);
  return site;
}

TEST(TopForeigners, StandBelowTheDeviceThatTheyUse) {
  TopState state;
  const std::vector<std::string> rows = DeviceRows(SiteWithAForeigner(), {}, 0, &state);
  const std::string text = Join(rows, "\n");
  ASSERT_EQ(rows.size(), 6u) << text;
  EXPECT_EQ(rows[3].find("  1 "), 0u) << text;
  EXPECT_NE(rows[4].find("foreign"), std::string::npos) << text;
  EXPECT_NE(rows[4].find("19.00 GiB"), std::string::npos) << text;
  EXPECT_NE(rows[4].find("pid 4711 python (bo)"), std::string::npos) << text;
  EXPECT_TRUE(rows[5].ends_with("pid 12")) << "whose it is is not seen\n" << text;
}

TEST(TopForeigners, AreCountedWhereHostsStandAlone) {
  TopState state;
  const std::string text = Join(DeviceRows(SiteWithAForeigner(), {}, 4, &state), "\n");
  EXPECT_NE(text.find("0 of 2 busy, 1 used by others"), std::string::npos) << text;
}

}  // namespace
}  // namespace trainctl::client
