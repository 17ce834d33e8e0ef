// Numbers of several runs as bars, a panel a number. Pure.
#pragma once

#include <string>
#include <vector>

#include "client/plot/drawing.h"

namespace trainctl::client {

struct Bar {
  size_t run = 0;     // which colour it has
  std::string label;  // the run, as it calls itself: not escaped
  double value = 0;   // finite, ≥ 0
  std::string text;   // the value for people
};

struct BarPanel {
  std::string title;
  std::vector<Bar> bars;  // the longest is as long as the panel is wide
};

namespace drawn {

// Below the panels the notes, each on as many lines as it takes.
Drawing DrawingOf(const std::string& title, const std::vector<BarPanel>& panels,
                  const std::vector<std::string>& notes);

}  // namespace drawn
}  // namespace trainctl::client
