#include "common/record/point_record.h"

namespace trainctl::record {

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
