#include "client/report/comparison_bars.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "client/show/format.h"

namespace trainctl::client {
namespace {

constexpr std::string_view kMeasured[] = {"time", "memory", "device", "loss"};

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
    if (std::ranges::find(kMeasured, row.section()) == std::end(kMeasured)) continue;
    if (BarPanel panel = PanelOf(response, row); !panel.bars.empty())
      panels.push_back(std::move(panel));
  }
  return panels;
}

}  // namespace trainctl::client
