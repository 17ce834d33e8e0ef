#include "client/plot/svg_bars.h"

#include <algorithm>

#include "client/plot/svg.h"
#include "client/show/format.h"

namespace trainctl::client {
namespace {

constexpr int kBarsWidth = 900, kBarsTop = 44;
constexpr int kBarHeight = 18, kTitleHeight = 26, kPanelGap = 14;
constexpr double kBarsLeft = 250, kValueRoom = 190, kMargin = 20;
constexpr int kLongestName = 32;

int HeightOf(const BarPanel& panel) {
  return kTitleHeight + kBarHeight * static_cast<int>(panel.bars.size()) + kPanelGap;
}

std::string DrawnPanel(const BarPanel& panel, double top) {
  double longest = 0;
  for (const Bar& bar : panel.bars) longest = std::max(longest, bar.value);
  std::string text = svg::Text(kMargin, top + 16, "start", panel.title);
  double y = top + kTitleHeight;
  for (const Bar& bar : panel.bars) {
    const double room = kBarsWidth - kBarsLeft - kValueRoom;
    const double width = longest > 0 ? bar.value / longest * room : 0;
    text += svg::Text(kBarsLeft - 8, y + 13, "end", Truncate(bar.label, kLongestName));
    text += "<rect x=\"" + svg::Number(kBarsLeft) + "\" y=\"" + svg::Number(y + 2) + "\" width=\"" +
            svg::Number(std::max(1.0, width)) + "\" height=\"" + std::to_string(kBarHeight - 4) +
            "\" fill=\"" + svg::Colour(bar.run) + "\"/>\n";
    text += svg::Text(kBarsLeft + width + 8, y + 13, "start", bar.text);
    y += kBarHeight;
  }
  return text;
}

}  // namespace

int SvgBarsWidth() { return kBarsWidth; }

int SvgBarsHeight(const std::vector<BarPanel>& panels) {
  int height = kBarsTop;
  for (const BarPanel& panel : panels) height += HeightOf(panel);
  return height;
}

std::string SvgBars(const std::string& title, const std::vector<BarPanel>& panels) {
  std::string body = svg::Text(kMargin, 26, "start", title);
  double top = kBarsTop;
  for (const BarPanel& panel : panels) {
    body += DrawnPanel(panel, top);
    top += HeightOf(panel);
  }
  return svg::Whole(kBarsWidth, SvgBarsHeight(panels), title, body);
}

}  // namespace trainctl::client
