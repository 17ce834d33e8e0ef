// Prometheus' text format.
#include "server/web/exposition.h"

#include <gtest/gtest.h>

#include <limits>

namespace trainctl::web {
namespace {

TEST(Exposition, FamiliesSamplesAndLabels) {
  Exposition text;
  text.Family("trainctl_jobs", "gauge", "Jobs by state.");
  text.Sample({{"state", "QUEUED"}}, 3);
  text.Sample({{"state", "RUNNING"}, {"kind", "x"}}, 0.25);
  text.Family("up", "counter", "All.");
  text.Sample({}, 1e300);
  EXPECT_EQ(text.text(),
            "# HELP trainctl_jobs Jobs by state.\n"
            "# TYPE trainctl_jobs gauge\n"
            "trainctl_jobs{state=\"QUEUED\"} 3\n"
            "trainctl_jobs{state=\"RUNNING\",kind=\"x\"} 0.25\n"
            "# HELP up All.\n"
            "# TYPE up counter\n"
            "up 1e+300\n");
}

TEST(Exposition, LabelsAreEscapedAndNumbersThatAreNoneAreNamed) {
  Exposition text;
  text.Family("a", "gauge", "A.");
  text.Sample({{"worker", "a\"b\\c\nd"}}, std::numeric_limits<double>::quiet_NaN());
  text.Sample({}, std::numeric_limits<double>::infinity());
  text.Sample({}, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(text.text(),
            "# HELP a A.\n# TYPE a gauge\na{worker=\"a\\\"b\\\\c\\nd\"} NaN\na +Inf\na -Inf\n");
}

TEST(Exposition, BucketsOfAHistogramHoldAllBelowThem) {
  meters::Histogram histogram;
  histogram.Add(400);         // 0.4 ms
  histogram.Add(500);         // on a bound: within
  histogram.Add(3'000);       // 3 ms
  histogram.Add(60'000'000);  // beyond the last
  Exposition text;
  text.Family("rpc_seconds", "histogram", "Time.");
  text.Samples({{"rpc", "Get"}}, histogram.Read());
  EXPECT_NE(text.text().find("rpc_seconds_bucket{rpc=\"Get\",le=\"5e-04\"} 2\n"
                             "rpc_seconds_bucket{rpc=\"Get\",le=\"0.001\"} 2\n"
                             "rpc_seconds_bucket{rpc=\"Get\",le=\"0.0025\"} 2\n"
                             "rpc_seconds_bucket{rpc=\"Get\",le=\"0.005\"} 3\n"),
            std::string::npos)
      << text.text();
  EXPECT_NE(text.text().find("le=\"10\"} 3\n"
                             "rpc_seconds_bucket{rpc=\"Get\",le=\"+Inf\"} 4\n"
                             "rpc_seconds_sum{rpc=\"Get\"} 60.0039\n"
                             "rpc_seconds_count{rpc=\"Get\"} 4\n"),
            std::string::npos)
      << text.text();
}

}  // namespace
}  // namespace trainctl::web
