// The metrics that have curves, for the pages: what /api/metrics answers. Pure, thread-safe.
#pragma once

#include "common/record/document.h"

namespace trainctl::web {

// {"metrics": [{"name", "label", "unit", "section"}, …]}, in the order of job::Metrics(). section:
// where compare shows it; "": nowhere.
record::Json MetricsDocument();

}  // namespace trainctl::web
