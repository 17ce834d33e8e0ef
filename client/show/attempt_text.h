// How an attempt ended, in words for the terminal. Pure.
#pragma once

#include <string>

#include "client/show/text_table.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

// "Attempt 1: FAILED (rank 1, exit code 3): its message"; and what memory held where it ran out.
std::string AttemptText(const v1::AttemptView& attempt, const TableLayout& layout);

// What the rank is in, or was in when the attempt ended. Empty where the attempt succeeded.
std::string PhaseText(const v1::AttemptView& attempt, const v1::RankView& rank);

// The last lines that the rank printed which ended the attempt. Empty where it succeeded.
std::string LastLinesText(const v1::AttemptView& attempt);

}  // namespace trainctl::client
