#include "client/top/load_history.h"

#include <algorithm>
#include <cmath>

namespace trainctl::client {
namespace {

constexpr int64_t kBucketMicros = 30'000'000;

}  // namespace

void LoadHistory::Add(const SiteView& site) {
  now_ = site.time / kBucketMicros;
  for (const v1::WorkerView& worker : site.workers) {
    const v1::DeviceSample& sample = worker.device_sample();
    if (sample.has_utilization_percent()) Note(worker.name(), sample.utilization_percent());
    if (worker.has_host_sample()) Note(worker.host(), worker.host_sample().cpu_percent());
  }
}

void LoadHistory::Note(const std::string& name, double percent) {
  if (!std::isfinite(percent)) return;
  Bucket& bucket = buckets_[name][static_cast<size_t>(now_ % kLoadBuckets)];
  if (bucket.number != now_) bucket = {.number = now_};
  bucket.total += percent;
  ++bucket.count;
}

std::map<std::string, LoadCurve> LoadHistory::Curves() const {
  std::map<std::string, LoadCurve> curves;
  for (const auto& [name, buckets] : buckets_) {
    LoadCurve& curve = curves[name];
    for (const Bucket& bucket : buckets) {
      const int64_t age = now_ - bucket.number;
      if (bucket.number < 0 || age < 0 || age >= kLoadBuckets) continue;
      curve[static_cast<size_t>(kLoadBuckets - 1 - age)] = bucket.total / bucket.count;
    }
  }
  return curves;
}

std::string SparkLine(const LoadCurve& curve, bool unicode) {
  constexpr const char* kBars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  constexpr const char* kAscii[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
  constexpr int kHighest = static_cast<int>(std::size(kBars)) - 1;
  if (std::ranges::count_if(curve, [](const auto& one) { return one.has_value(); }) < 2) return "";
  std::string line;
  for (const std::optional<double>& percent : curve) {
    const double share = std::clamp(percent.value_or(0) / 100, 0.0, 1.0);
    const auto level = static_cast<size_t>(std::lround(share * kHighest));
    line += !percent ? " " : unicode ? kBars[level] : kAscii[level];
  }
  return line;
}

}  // namespace trainctl::client
