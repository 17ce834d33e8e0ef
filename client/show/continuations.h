// What models make of a job's prompts (eval.prompts), as text. Pure.
#pragma once

#include <string>
#include <vector>

#include "client/show/text_table.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// Line ends and tabs as \n and \t.
std::string OnOneLine(const std::string& text);

// Under each prompt its texts, one a step: of the first and the last evaluation. "": there are
// none.
std::string ContinuationsText(const v1::JobDetail& detail, const TableLayout& layout);

// The comparison without the rows of texts, which are too long for a table.
v1::CompareResponse WithoutTexts(const v1::CompareResponse& response);
// Those rows: under each prompt each job's texts. "": there are none. places: the jobs in order.
std::string ComparedTexts(const v1::CompareResponse& response, const std::vector<int>& places,
                          const TableLayout& layout);

}  // namespace trainctl::client
