#include "client/plot/drawn_bars.h"

#include <algorithm>

#include "client/show/format.h"

namespace trainctl::client::drawn {
namespace {

constexpr int kBarsWidth = 900, kBarsTop = 44;
constexpr int kBarHeight = 18, kTitleHeight = 26, kPanelGap = 14;
constexpr double kBarsLeft = 250, kValueRoom = 190, kMargin = 20;
constexpr int kLongestName = 32;
constexpr int kNoteHeight = 20, kNoteColumns = 118;  // of letters of 7 pixels

int HeightOf(const BarPanel& panel) {
  return kTitleHeight + kBarHeight * static_cast<int>(panel.bars.size()) + kPanelGap;
}

void DrawBar(const Bar& bar, double longest, double y, std::vector<Shape>* shapes) {
  const double room = kBarsWidth - kBarsLeft - kValueRoom;
  const double width = longest > 0 ? bar.value / longest * room : 0;
  shapes->push_back(
      Words{{kBarsLeft - 8, y + 13}, Words::Anchor::kEnd, Truncate(bar.label, kLongestName)});
  shapes->push_back(
      Box{{kBarsLeft, y + 2}, std::max(1.0, width), kBarHeight - 4, ColourOf(bar.run)});
  shapes->push_back(Words{{kBarsLeft + width + 8, y + 13}, Words::Anchor::kStart, bar.text});
}

void DrawPanel(const BarPanel& panel, double top, std::vector<Shape>* shapes) {
  double longest = 0;
  for (const Bar& bar : panel.bars) longest = std::max(longest, bar.value);
  shapes->push_back(Words{{kMargin, top + 16}, Words::Anchor::kStart, panel.title});
  double y = top + kTitleHeight;
  for (const Bar& bar : panel.bars) {
    DrawBar(bar, longest, y, shapes);
    y += kBarHeight;
  }
}

void DrawNote(const std::string& note, Drawing* drawing) {
  for (std::string& line : WrapWords(note, kNoteColumns)) {
    drawing->shapes.push_back(
        Words{{kMargin, drawing->height + 13}, Words::Anchor::kStart, std::move(line)});
    drawing->height += kNoteHeight;
  }
}

}  // namespace

Drawing DrawingOf(const std::string& title, const std::vector<BarPanel>& panels,
                  const std::vector<std::string>& notes) {
  Drawing drawing{title, kBarsWidth, kBarsTop};
  drawing.shapes.push_back(Words{{kMargin, 26}, Words::Anchor::kStart, title});
  for (const BarPanel& panel : panels) {
    DrawPanel(panel, drawing.height, &drawing.shapes);
    drawing.height += HeightOf(panel);
  }
  for (const std::string& note : notes) DrawNote(note, &drawing);
  return drawing;
}

}  // namespace trainctl::client::drawn
