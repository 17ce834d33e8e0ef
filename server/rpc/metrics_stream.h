// Metrics: the stored points of a job, a page at a time, so that neither side holds more than that.
#pragma once

#include <optional>

#include "proto/trainctl.pb.h"
#include "server/rpc/backend.h"
#include "server/rpc/write_stream.h"

namespace trainctl::rpc {

class MetricsStream : public WriteStream<v1::MetricsRequest, v1::MetricsResponse> {
 public:
  explicit MetricsStream(Backend& backend);

 protected:
  void Pump() override;

 private:
  void Find();
  void ReadPage();

  Backend& backend_;
  base::JobId job_;                       // 0: not found yet
  std::optional<job::MetricPoint> last_;  // that was read
  bool waiting_ = false;                  // for an answer of the store
  bool at_end_ = false;
};

}  // namespace trainctl::rpc
