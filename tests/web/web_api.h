// The dashboard's documents of a job that a fake worker trains.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/rank/metric.h"
#include "tests/rpc/training_job.h"
#include "tests/web/http_client.h"

namespace trainctl::web_test {

using Json = nlohmann::ordered_json;

inline constexpr const char* kHostile = "<script>alert(1)<b>";

inline Json GetJson(const rpc_test::TestSite& site, const std::string& target, int status = 200) {
  const Reply reply = Get(site.dashboard(), target);
  EXPECT_EQ(reply.status, status) << target << ": " << reply.body;
  EXPECT_EQ(reply.headers.at("content-type"), "application/json");
  return Json::parse(reply.body);
}

// A job of a hostile name that has trained `steps` steps.
class WebApi : public testing::Test {
 protected:
  void TrainSteps(int steps) {
    job_ = rpc_test::Train(site_, worker_, kHostile);
    constexpr int kPointsPerReport = 500;
    std::vector<job::MetricPoint> points;
    for (int step = 0; step < steps; ++step) {
      points.push_back(
          {"loss", step, std::nullopt, std::nullopt, 4.0 - 0.001 * step, 1'000'000 + step});
      if (step % kPointsPerReport == 0)
        worker_.Report(job_.rank, job::RankMetrics{std::exchange(points, {})});
    }
    for (const job::Phase phase : {job::Phase::kBeforeForward, job::Phase::kAfterForward})
      points.push_back({"memory_params_bytes", 0, 0, phase, 1024.0, 1'000'000});
    points.push_back({"loss", steps, std::nullopt, std::nullopt, std::nan(""), 2'000'000});
    worker_.Report(job_.rank, job::RankMetrics{points});
    worker_.Report(job_.rank, job::RankProgress{.step = steps + 1, .steps = 5000, .loss = 2.5});
    site_.WaitFor(job_.id, [&](const v1::JobView& view) { return view.step() == steps + 1; });
    WaitUntilStored();
  }

  // What was reported is in the store.
  void WaitUntilStored() {
    v1::AuditRequest everything_is_stored_first;
    everything_is_stored_first.set_limit(1);
    v1::AuditResponse response;
    const auto status =
        site_.Call(&v1::Coordinator::Stub::Audit, everything_is_stored_first, &response);
    ASSERT_TRUE(status.ok()) << status.error_message();
  }

  rpc_test::TestSite site_;
  rpc_test::FakeWorker worker_{"a/0"};
  rpc_test::TrainingJob job_;
};

}  // namespace trainctl::web_test
