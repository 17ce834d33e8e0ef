#include "client/exit_code.h"
#include "client/show/output.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

using DrainTest = ClientTest;

TEST_F(DrainTest, DrainSaysWhatStillRunsThere) {
  v1::WorkerView busy = CpuWorker("a/0", "BUSY");
  busy.set_job("j7");
  coordinator_.workers = {busy, CpuWorker("a/1", "READY"), CpuWorker("b/0", "READY")};
  const Ended drained = Trainctl({"drain", "a", "--reason", "a fan is broken"});
  EXPECT_EQ(drained.code, kExitOk);
  EXPECT_EQ(drained.out, "Drained a: nothing new is placed there. Still there: j7\n");
  EXPECT_EQ(coordinator_.workers[1].drain().reason(), "a fan is broken");
  const Json again = Json::parse(Trainctl({"drain", "a", "-o", "json"}).out);
  EXPECT_EQ(again["drained"],
            Json::array({{{"target", "a"}, {"jobs", {"j7"}}, {"leases", Json::array()}}}));
  EXPECT_FALSE(coordinator_.workers[2].has_drain());
  const Json worker = Json::parse(Trainctl({"workers", "-o", "json"}).out)["workers"][0];
  EXPECT_EQ(worker["drain"]["target"], "a");
  EXPECT_NE(Trainctl({"status"}).out.find("2 drained"), std::string::npos);
  EXPECT_EQ(Trainctl({"undrain", "a"}).out, "Undrained a. Ended:\n  the drain of a\n");
  EXPECT_EQ(Trainctl({"undrain", "a"}).out, "Nothing kept jobs away from a.\n");
  EXPECT_EQ(Trainctl({"undrain", "a", "-o", "name"}).out, "a\n");
  EXPECT_FALSE(coordinator_.workers[0].has_drain());
  EXPECT_EQ(Trainctl({"drain", "c"}).code, kExitNotFound);
}

TEST_F(DrainTest, AFaultyDeviceIsCountedAndNamed) {
  v1::WorkerView bad = CpuWorker("a/0", "BAD");
  bad.set_reason("XID 79 (the GPU has fallen off the bus) at 2026-12-01 14:00:00 UTC");
  v1::FaultView& fault = *bad.add_faults();
  fault.set_xid(79);
  fault.set_class_("bad");
  fault.set_keeps_out(true);
  coordinator_.workers = {bad, CpuWorker("a/1", "SUSPECT")};
  EXPECT_NE(Trainctl({"status"}).out.find("0 of 2 devices busy, 1 bad, 1 suspect"),
            std::string::npos);
  EXPECT_NE(Trainctl({"workers"}).out.find("XID 79"), std::string::npos);
  const Json record = Json::parse(Trainctl({"workers", "-o", "json"}).out)["workers"][0];
  EXPECT_EQ(record["faults"][0]["xid"], 79);
  EXPECT_EQ(record["faults"][0]["keeps_out"], true);
  EXPECT_EQ(Trainctl({"undrain", "a"}).out,
            "Nothing kept jobs away from a.\nNothing new is placed yet where faults stay:\n"
            "  a/0 is BAD: XID 79\n");
  Trainctl({"undrain", "a", "--faults"});
  EXPECT_EQ(coordinator_.workers[0].faults_size(), 0);
}

}  // namespace
}  // namespace trainctl::client
