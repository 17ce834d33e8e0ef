#include "client/plot/curve.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "client/show/format.h"

namespace trainctl::client {
namespace {

constexpr double kFactors[] = {1, 2, 5};
// Points are numbered from 0. People read how many steps are done, as everywhere else.
constexpr double kFirstStep = 1;
// Steps of an axis of time, in seconds; days are doubled from there on.
constexpr double kClockSteps[] = {1,   2,   5,    10,   15,   30,    60,    120,   300,
                                  600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400};

struct Range {
  double low = 0, high = 0;
  bool empty = true;

  void Add(double value) {
    low = empty ? value : std::min(low, value);
    high = empty ? value : std::max(high, value);
    empty = false;
  }
};

Range RangeOf(const Plot& plot, double Sample::* member) {
  Range range;
  for (const Curve& curve : plot.curves) {
    for (const Sample& sample : curve.samples) {
      if (!plot.log || sample.y > 0) range.Add(sample.*member);
    }
  }
  return range;
}

// A curve that diverged is as long as its run.
void AddNotFinite(const Plot& plot, Range* range) {
  for (const Curve& curve : plot.curves) {
    for (const Sample& sample : curve.not_finite) range->Add(sample.x);
  }
}

// The first step of 1, 2, 5, 10, … of which the range has at most that many.
double NiceStep(double span, int most) {
  const double least = span / std::max(1, most);
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double factor : kFactors) {
    if (factor * power >= least * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

double ClockStep(double span, int most) {
  for (const double step : kClockSteps) {
    if (span / step <= most) return step;
  }
  double step = 86400;
  while (span / step > most) step *= 2;
  return step;
}

std::vector<double> Multiples(double step, double low, double high) {
  std::vector<double> multiples;
  for (double i = std::ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i)
    multiples.push_back(i * step + 0.0);  // no -0
  return multiples;
}

// Bytes are told in powers of 1024, so their steps are nice in those.
double ScaleOf(const std::string& unit, double high) {
  double scale = 1;
  while (unit == "bytes" && high / scale >= 1024) scale *= 1024;
  return scale;
}

// 1, 2, 5, 10, … from below the range to above it; fewer of them where they are too many.
Axis LogAxis(const Range& range, int most) {
  std::vector<double> ticks;
  for (double power = std::floor(std::log10(range.low)); power <= std::log10(range.high) + 1;
       ++power) {
    for (const double factor : kFactors) ticks.push_back(factor * std::pow(10, power));
  }
  const auto above = std::upper_bound(ticks.begin(), ticks.end(), range.low * (1 + 1e-9));
  ticks.erase(ticks.begin(), above == ticks.begin() ? above : above - 1);
  const auto end = std::lower_bound(ticks.begin() + 1, ticks.end(), range.high * (1 - 1e-9));
  ticks.erase(end == ticks.end() ? end : end + 1, ticks.end());
  Axis axis{.low = ticks.front(), .high = ticks.back(), .log = true};
  const size_t every = (ticks.size() + static_cast<size_t>(most) - 1) / static_cast<size_t>(most);
  for (size_t i = 0; i < ticks.size(); i += std::max<size_t>(1, every))
    axis.ticks.push_back(ticks[i]);
  return axis;
}

}  // namespace

double Axis::Place(double value) const {
  if (high == low) return 0.5;
  return log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
}

Axis AxisOfX(const Plot& plot, int most_ticks) {
  Range range = RangeOf(plot, &Sample::x);
  AddNotFinite(plot, &range);
  if (range.low == range.high) range.high = range.low + 1;
  const double span = range.high - range.low, shown = plot.over_time ? 0 : kFirstStep;
  const double step =
      plot.over_time ? ClockStep(span, most_ticks) : std::max(1.0, NiceStep(span, most_ticks));
  std::vector<double> ticks = Multiples(step, range.low + shown, range.high + shown);
  for (double& tick : ticks) tick -= shown;
  return {.low = range.low, .high = range.high, .ticks = std::move(ticks)};
}

Axis AxisOfY(const Plot& plot, int most_ticks) {
  Range range = RangeOf(plot, &Sample::y);
  if (plot.log) return range.empty ? Axis{.log = true} : LogAxis(range, most_ticks);
  if (range.low == range.high) {
    const double margin = range.low == 0 ? 1 : std::abs(range.low) / 10;
    range = {.low = range.low - margin, .high = range.high + margin, .empty = false};
  }
  const double scale = ScaleOf(plot.unit, range.high);
  const double step = scale * NiceStep((range.high - range.low) / scale, most_ticks);
  const double low = step * std::floor(range.low / step + 1e-9);
  const double high = step * std::ceil(range.high / step - 1e-9);
  return {.low = low, .high = high, .ticks = Multiples(step, low, high)};
}

std::string TickOfX(const Plot& plot, double x) {
  return plot.over_time ? FormatClock(x) : FormatNumber(x + kFirstStep);
}

std::string TickOfY(const Plot& plot, double y) { return FormatWithUnit(y, plot.unit); }

std::vector<std::string> TicksOfY(const Plot& plot, const Axis& y) {
  std::vector<std::string> texts;
  for (const double tick : y.ticks) texts.push_back(TickOfY(plot, tick));
  if (std::ranges::adjacent_find(texts) == texts.end()) return texts;
  for (size_t i = 0; i < texts.size(); ++i) {
    const double step = y.log ? y.ticks[i] : y.ticks[1] - y.ticks[0];
    texts[i] = FormatInSteps(y.ticks[i], step, plot.unit);
  }
  return texts;
}

std::string EndText(const Plot& plot, const Curve& curve) {
  const std::string last =
      curve.samples.empty() ? "" : TickOfY(plot, curve.samples.back().y) + " at the end";
  if (curve.not_finite.empty()) return last;
  const auto is_behind = [&](const Sample& sample) {
    return curve.samples.empty() || sample.x > curve.samples.back().x;
  };
  const auto first = std::ranges::find_if(curve.not_finite, is_behind);
  if (first != curve.not_finite.end()) {
    return FormatNumber(std::isnan(first->y) ? NAN : first->y) + " from " +
           (plot.over_time ? "" : "step ") + TickOfX(plot, first->x);
  }
  return last + ", no number at " + Plural(static_cast<int64_t>(curve.not_finite.size()), "point");
}

std::vector<Sample> Downsample(std::span<const Sample> samples, const Axis& x, size_t buckets) {
  std::vector<Sample> kept;
  const auto bucket_of = [&](const Sample& sample) {
    const double place = std::clamp(x.Place(sample.x), 0.0, 1.0);
    return std::min(buckets - 1, static_cast<size_t>(place * static_cast<double>(buckets)));
  };
  for (size_t begin = 0; begin < samples.size();) {
    size_t end = begin + 1;
    while (end < samples.size() && bucket_of(samples[end]) == bucket_of(samples[begin])) ++end;
    const auto [least, largest] =
        std::minmax_element(samples.begin() + static_cast<ptrdiff_t>(begin),
                            samples.begin() + static_cast<ptrdiff_t>(end),
                            [](const Sample& a, const Sample& b) { return a.y < b.y; });
    std::array<size_t, 4> places = {begin, static_cast<size_t>(least - samples.begin()),
                                    static_cast<size_t>(largest - samples.begin()), end - 1};
    std::ranges::sort(places);
    for (size_t i = 0; i < places.size(); ++i) {
      if (i == 0 || places[i] != places[i - 1]) kept.push_back(samples[places[i]]);
    }
    begin = end;
  }
  return kept;
}

}  // namespace trainctl::client
