// What people read on a terminal of 80 columns: no word or number is broken.
#include "client/show/format.h"
#include "common/job/job_json.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

using NarrowTest = ClientTest;

void ExpectNoWider(int width, const std::string& text) {
  for (const std::string& line : Split(text, '\n')) EXPECT_LE(DisplayWidth(line), width) << line;
}

TEST_F(NarrowTest, NothingIsWiderThanATerminalOf80Columns) {
  SetTerminal(80);
  for (int i = 0; i < 4; ++i) {
    v1::WorkerView gpu = CpuWorker("a-node-of-the-cluster/" + std::to_string(i), "BUSY");
    gpu.set_job("j2");
    gpu.mutable_device()->set_kind("cuda");
    gpu.mutable_device()->set_name("NVIDIA H200");
    gpu.mutable_device_sample()->set_utilization_percent(100);
    gpu.mutable_device_sample()->set_memory_used_bytes(int64_t{120} << 30);
    gpu.mutable_device_sample()->set_power_watts(512);
    gpu.mutable_device_sample()->set_temperature_celsius(61);
    coordinator_.workers.push_back(gpu);
  }
  ExpectNoWider(80, Trainctl({"workers"}).out);
  EXPECT_NE(Trainctl({"workers"}).out.find("(too narrow for "), std::string::npos);
  coordinator_.workers[1].set_reason(
      "the disk of /work is full, and has been for two hours by now");
  (*coordinator_.workers[2].mutable_device()->mutable_labels())["rack"] = "r1";
  ExpectNoWider(80, Trainctl({"workers"}).out);

  coordinator_.jobs = {FinishedJob("j1", "big", "OOM_GPU"), RunningJob("j2", "tiny")};
  v1::JobView& queued = coordinator_.jobs.emplace_back();
  queued.set_id("j3");
  queued.set_name("next");
  queued.set_state("QUEUED");
  queued.set_reason(
      "waits for 2 devices of the kind that it wants: 0 are free, 4 "
      "are held by others");
  v1::JobDetail& detail = coordinator_.details["j1"];
  detail.set_job_json(job::ToJson(job::JobSpec{.name = "big"}));
  v1::AttemptView& attempt = *detail.add_attempts();
  attempt.set_attempt(1);
  attempt.set_outcome("OOM_GPU");
  attempt.set_rank(0);
  attempt.set_message("rank 0 asked for 2.00 GiB in forward with a limit of 16.00 GiB on a node");
  v1::RankView& rank = *attempt.add_ranks();
  rank.set_worker("a-node-of-the-cluster/0");
  rank.set_device_name("NVIDIA H200");
  rank.set_phase("after_optimizer_step");
  rank.set_step(1'234'567);
  rank.set_pid(4'194'304);
  rank.set_libtorch("2.11.0");
  rank.set_nccl("2.28.9");
  rank.set_commit("0123456789ab");
  v1::MetricSummary& summary = *detail.add_summaries();
  summary.set_name("memory_optimizer_cpu_bytes");
  summary.set_phase("after_optimizer_step");
  for (const auto set : {&v1::MetricSummary::set_latest, &v1::MetricSummary::set_min,
                         &v1::MetricSummary::set_max, &v1::MetricSummary::set_total})
    (summary.*set)(130e9);
  summary.set_count(1);
  v1::JobEvent& event = *detail.add_events();
  event.set_text("inspected by a-node/0: 52,002 rows, 1,626 optimizer steps, 61.20 GiB predicted");
  for (const char* verb : {"describe", "explain"}) ExpectNoWider(80, Trainctl({verb, "j1"}).out);
  ExpectNoWider(80, Trainctl({"status"}).out);
  ExpectNoWider(80, Trainctl({"explain", "j3"}).out);
}

}  // namespace
}  // namespace trainctl::client
