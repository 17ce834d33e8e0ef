// What models make of a job's prompts (eval.prompts), as text. Pure.
#pragma once

#include <string>
#include <vector>

#include "client/show/text_table.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// Under each prompt its texts, one a step, and of which other steps some are kept. "": there are
// none.
std::string ContinuationsText(const v1::JobDetail& detail, const TableLayout& layout);

// Of which steps texts are kept: "4, 1,009". Empty where there are none.
std::string TextStepsText(const v1::JobDetail& detail);

// The comparison without the rows of texts, which are too long for a table.
v1::CompareResponse WithoutTexts(const v1::CompareResponse& response);
// Those rows: under each prompt each job's texts. "": there are none. places: the jobs in order.
std::string ComparedTexts(const v1::CompareResponse& response, const std::vector<int>& places,
                          const TableLayout& layout);

}  // namespace trainctl::client
