// The first row of a job's data, as its worker read it. Pure.
#pragma once

#include <string>

#include "client/show/output.h"
#include "common/estimate/inspection.h"

namespace trainctl::client {

// Its counts, and its text on one line, which ends with a newline. What counts in the loss stands
// between « and ». Line ends and tabs are written as \n and \t. "": the row is unknown.
std::string FirstRowText(const job::Inspection& inspection, const TableLayout& layout);

// {"tokens", "trained", "pieces": [{"text", "trained"}]}; null: it is unknown.
Json FirstRowJson(const job::Inspection& inspection);

}  // namespace trainctl::client
