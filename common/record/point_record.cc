#include "common/record/point_record.h"

namespace trainctl::record {

const std::vector<std::string>& PointColumns() {
  static const auto* const columns =
      new std::vector<std::string>{"name", "step", "rank", "phase", "value", "time"};
  return *columns;
}

Json PointRecord(const v1::MetricPoint& point) {
  Json record = {{"name", point.name()},
                 {"step", point.step()},
                 {"rank", point.has_rank() ? Json(point.rank()) : Json(nullptr)},
                 {"value", point.value()},
                 {"time", Seconds(point.time())}};
  if (!point.phase().empty()) record["phase"] = point.phase();
  return record;
}

}  // namespace trainctl::record
