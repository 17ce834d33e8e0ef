// The dots of a straight line, by Bresenham. Pure.
#pragma once

#include <cstdlib>

namespace trainctl::client {

// Both ends are among them.
template <class Take>
void DotsOfLine(int x, int y, int to_x, int to_y, Take take) {
  const int across = std::abs(to_x - x), down = -std::abs(to_y - y);
  const int step_x = x < to_x ? 1 : -1, step_y = y < to_y ? 1 : -1;
  for (int error = across + down;;) {
    take(x, y);
    if (x == to_x && y == to_y) return;
    const int twice = 2 * error;
    if (twice >= down) error += down, x += step_x;
    if (twice <= across) error += across, y += step_y;
  }
}

}  // namespace trainctl::client
