#include "server/web/curve.h"

#include <cmath>

namespace trainctl::web {
namespace {

bool IsLower(const CurvePoint& one, const CurvePoint& other) {
  return std::isnan(other.value) ? !std::isnan(one.value) : one.value < other.value;
}

bool IsHigher(const CurvePoint& one, const CurvePoint& other) {
  return std::isnan(other.value) ? !std::isnan(one.value) : one.value > other.value;
}

// Once, and only behind what is there already.
void Append(const CurvePoint& point, std::vector<CurvePoint>* points) {
  if (points->empty() || points->back().step < point.step) points->push_back(point);
}

}  // namespace

void Curve::Merge(const Bucket& from, Bucket* into) {
  if (into->count == 0 || IsLower(from.lowest, into->lowest)) into->lowest = from.lowest;
  if (into->count == 0 || IsHigher(from.highest, into->highest)) into->highest = from.highest;
  into->count += from.count;
}

void Curve::Halve() {
  std::vector<Bucket> halved((buckets_.size() + 1) / 2);
  for (size_t i = 0; i < buckets_.size(); ++i) Merge(buckets_[i], &halved[i / 2]);
  buckets_ = std::move(halved);
  stride_ *= 2;
}

void Curve::Add(const job::MetricPoint& point) {
  last_ = {point.step, point.time, point.value};
  if (count_++ == 0) first_ = last_;
  if (buckets_.empty() || buckets_.back().count >= stride_) {
    if (buckets_.size() >= 2 * most_) Halve();
    if (buckets_.empty() || buckets_.back().count >= stride_) buckets_.emplace_back();
  }
  Merge({last_, last_, 1}, &buckets_.back());
}

std::vector<CurvePoint> Curve::Points() const {
  std::vector<CurvePoint> points;
  if (count_ == 0) return points;
  points.push_back(first_);
  for (const Bucket& bucket : buckets_) {
    const bool rises = bucket.lowest.step <= bucket.highest.step;
    Append(rises ? bucket.lowest : bucket.highest, &points);
    Append(rises ? bucket.highest : bucket.lowest, &points);
  }
  Append(last_, &points);
  return points;
}

}  // namespace trainctl::web
