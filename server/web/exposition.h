// Prometheus' text format, version 0.0.4: families of samples with labels.
//
//   # HELP trainctl_jobs Jobs by state.
//   # TYPE trainctl_jobs gauge
//   trainctl_jobs{state="QUEUED"} 3
//
// A histogram is its buckets, each with all below it, their sum and their count. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/meters/histogram.h"

namespace trainctl::web {

inline constexpr std::string_view kExpositionType = "text/plain; version=0.0.4; charset=utf-8";

class Exposition {
 public:
  using Labels = std::vector<std::pair<std::string_view, std::string>>;

  // The samples that follow are of this family. type: gauge, counter or histogram.
  void Family(std::string_view name, std::string_view type, std::string_view help);
  void Sample(const Labels& labels, double value) { Line("", labels, value); }
  void Samples(const Labels& labels, const meters::Histogram::Counts& counts);

  const std::string& text() const { return text_; }

 private:
  void Line(std::string_view suffix, const Labels& labels, double value);

  std::string family_;
  std::string text_;
};

}  // namespace trainctl::web
