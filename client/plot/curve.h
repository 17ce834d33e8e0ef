// Curves of metrics and the axes that they are drawn on. Pure values.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace trainctl::client {

struct Sample {
  double x = 0;  // a point's step, from 0; or seconds since the job's start
  double y = 0;  // finite
};

struct Curve {
  std::string label;               // as a job calls itself: not escaped
  std::vector<Sample> samples;     // by x
  std::vector<Sample> not_finite;  // what can't be drawn, by x
};

struct Plot {
  std::string title;
  std::string unit;        // of y: as MetricInfo's
  bool over_time = false;  // x is seconds, else steps
  bool log = false;        // y is drawn by its logarithm; what is not above 0 is left out
  std::vector<Curve> curves;
};

struct Axis {
  double low = 0, high = 1;
  bool log = false;
  std::vector<double> ticks;  // rising, within the range

  // 0 at low, 1 at high.
  double Place(double value) const;
};

// Of all samples, x of what is not finite too, with about that many ticks. The ends of y are ticks,
// those of x need not be.
Axis AxisOfX(const Plot& plot, int most_ticks);
Axis AxisOfY(const Plot& plot, int most_ticks);

// "1,000" steps are done at the point 999; "2:30" of time. Values have their unit.
std::string TickOfX(const Plot& plot, double x);
std::string TickOfY(const Plot& plot, double y);
// Of the axis' ticks, each other than its neighbours: with as many digits as that takes.
std::vector<std::string> TicksOfY(const Plot& plot, const Axis& y);

// How the curve ends, for a legend: "1.2 at the end", "nan from step 1", "2 at the end, no number
// at 3 points". Empty where there are no points.
std::string EndText(const Plot& plot, const Curve& curve);

// At most four samples a bucket of equal width on the axis: the first, the least, the largest and
// the last, by x. A spike of one sample stays, however long the curve is.
std::vector<Sample> Downsample(std::span<const Sample> samples, const Axis& x, size_t buckets);

}  // namespace trainctl::client
