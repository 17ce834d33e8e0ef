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

struct ComparedText {
  std::string of;  // "full (j1), step 40"
  std::string text;
};
struct ComparedPrompt {
  std::string prompt;
  std::vector<ComparedText> texts;  // by job; of each the first evaluation's and the last one's
};
// Those rows. places: the jobs in order; none: as they come.
std::vector<ComparedPrompt> PromptsOf(const v1::CompareResponse& response,
                                      std::vector<int> places = {});
// The same for a terminal. "": there are none.
std::string ComparedTexts(const v1::CompareResponse& response, const std::vector<int>& places,
                          const TableLayout& layout);

}  // namespace trainctl::client
