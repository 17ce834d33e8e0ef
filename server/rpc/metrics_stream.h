// Metrics: the stored points of a job, one metric after another, so that neither side holds more
// than one metric's points.
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "proto/trainctl.pb.h"
#include "server/rpc/backend.h"
#include "server/rpc/write_stream.h"

namespace trainctl::rpc {

class MetricsStream : public WriteStream<v1::MetricsResponse> {
 public:
  static constexpr size_t kPointsPerMessage = 4096;

  MetricsStream(Backend& backend, const v1::MetricsRequest& request);

 protected:
  void Pump() override;

 private:
  void Find();
  void ReadMetric();
  void WritePoints();

  Backend& backend_;
  const v1::MetricsRequest request_;
  base::JobId job_;                       // 0: not found yet
  std::deque<std::string> names_;         // still to be read
  std::vector<job::MetricPoint> points_;  // of one metric
  size_t written_ = 0;                    // of points_
  bool waiting_ = false;                  // for an answer of the store
};

}  // namespace trainctl::rpc
