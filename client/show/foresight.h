// What was predicted of a job beside what was measured of it, and the error. Pure.
#pragma once

#include <string>

#include "client/show/text_table.h"
#include "common/estimate/prediction.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// Rows of memory by kind (the worst rank's largest phase), peak and time; a row without a
// prediction or a measurement is left out; "" where there is none.
TextTable ForesightTable(const job::Prediction& prediction, const v1::JobDetail& detail);
std::string ForesightText(const job::Prediction& prediction, const v1::JobDetail& detail,
                          const TableLayout& layout);

}  // namespace trainctl::client
