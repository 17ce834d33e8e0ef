// The coordinator's comparison of runs as text, Markdown and records: what compare prints and
// export writes.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client/show/output.h"
#include "client/show/text_table.h"
#include "common/base/result.h"
#include "common/record/comparison_definitions.h"
#include "common/record/comparison_record.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

using record::ComparisonDocument;
using record::DefinitionsOf;
using record::RowRecords;

// There are jobs, and each row has a value for each of them: what follows expects it. Else
// kInternal.
base::Status CheckWhole(const v1::CompareResponse& response);

// What rows of any comparison are called: sections, then what is measured.
std::vector<std::string_view> KeysOfAnyComparison();

// Leaves the rows of these keys alone, in their order; a section's name stands for all of its rows,
// "lora" for "lora.r" and the like. Warnings stay with their sections. Returns keys of rows in
// which no run has a value yet. kInvalid: no row is ever called so, with a did-you-mean.
base::Result<std::vector<std::string>> KeepRows(const std::vector<std::string>& keys,
                                                v1::CompareResponse* response);

// A line of a spreadsheet for each row: its values under the jobs' ids.
std::vector<Json> FlatRecords(const v1::CompareResponse& response);

struct ComparisonView {
  int base = 0;                    // the place of the job that the others are measured against
  std::optional<bool> transposed;  // a row a job; unset: where the terminal is too narrow
};

// The base stands first. Text: as many jobs beside it as the terminal is wide, then the next ones
// below, again beside the base; or transposed.
std::string ComparisonText(const v1::CompareResponse& response, const ComparisonView& view,
                           const TableLayout& layout);
std::string ComparisonMarkdown(const v1::CompareResponse& response, const ComparisonView& view);
// Of each warning "Not comparable (time, memory): the device differs …."
std::vector<std::string> WarningTexts(const v1::CompareResponse& response);
// What stands below its numbers wherever they are shown: the warnings, then what rows mean.
std::vector<std::string> NotesOf(const v1::CompareResponse& response);
// Its table alone, the jobs in their order.
TextTable ComparisonTable(const v1::CompareResponse& response);

}  // namespace trainctl::client
