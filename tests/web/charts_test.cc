// Which charts a job's page is told of.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "common/rank/metric.h"
#include "server/web/documents.h"

namespace trainctl::web {
namespace {

using record::Json;

TEST(Charts, StandInTheOrderOfTheTableWithTheirMetrics) {
  const Json document = MetricsDocument();
  const Json& charts = document["charts"];
  EXPECT_EQ(charts[0], (Json{{"title", "Loss"}, {"metrics", {"loss", "val_loss"}}}));
  int64_t drawn = 0;
  for (const Json& chart : charts) {
    EXPECT_NE(chart["title"], "");
    drawn += static_cast<int64_t>(chart["metrics"].size());
    for (const Json& name : chart["metrics"]) {
      const auto is_named = [&](const Json& one) { return one["name"] == name; };
      EXPECT_TRUE(std::ranges::any_of(document["metrics"], is_named)) << name;
    }
  }
  const auto is_drawn = [](const job::MetricInfo& metric) { return metric.chart.place > 0; };
  EXPECT_EQ(drawn, std::ranges::count_if(job::Metrics(), is_drawn));
}

}  // namespace
}  // namespace trainctl::web
