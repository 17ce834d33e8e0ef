#include "client/report/comparison_bars.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "client/show/format.h"
#include "common/rank/metric.h"

namespace trainctl::client {
namespace {

bool IsDrawn(std::string_view section) {
  using enum job::MetricSection;
  static constexpr job::MetricSection kDrawn[] = {kTime, kMemory, kDevice, kLoss};
  return std::ranges::any_of(
      kDrawn, [section](job::MetricSection drawn) { return section == job::Name(drawn); });
}

BarPanel PanelOf(const v1::CompareResponse& response, const v1::CompareRow& row) {
  BarPanel panel{.title = row.label()};
  for (int i = 0; i < row.values_size(); ++i) {
    const v1::CompareValue& value = row.values(i);
    if (!value.has_number() || !std::isfinite(value.number()) || value.number() < 0) continue;
    std::string text = FormatWithUnit(value.number(), row.unit());
    if (value.has_delta()) text += "  " + FormatDelta(value.delta());
    if (value.best()) text += " *";
    panel.bars.push_back({static_cast<size_t>(i),
                          response.jobs(i).name() + " (" + response.jobs(i).id() + ")",
                          value.number(), std::move(text)});
  }
  return panel;
}

}  // namespace

std::vector<BarPanel> ComparisonBars(const v1::CompareResponse& response) {
  std::vector<BarPanel> panels;
  for (const v1::CompareRow& row : response.rows()) {
    if (!IsDrawn(row.section())) continue;
    if (BarPanel panel = PanelOf(response, row); !panel.bars.empty())
      panels.push_back(std::move(panel));
  }
  return panels;
}

}  // namespace trainctl::client
