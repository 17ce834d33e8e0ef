// A job's memory by kind and phase, predicted beside measured, and what it may take. Pure.
#pragma once

#include "common/record/document.h"
#include "proto/trainctl.pb.h"

namespace trainctl::web {

// {"rows", "limit_bytes"}: a row is a MemoryRecord with "label" and "is_part" of its kind. The
// limit is the job's own, or the smallest device's that it ran on; null: not known.
record::Json MemoryDocument(const v1::JobDetail& detail, const v1::WorkersResponse& site);

}  // namespace trainctl::web
