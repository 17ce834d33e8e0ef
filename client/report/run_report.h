// What a report says of a job, or of the runs of a group. Pure.
#pragma once

#include <string>
#include <vector>

#include "client/report/report.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

struct RunFacts {
  v1::GetResponse jobs;            // at least one
  v1::CompareResponse comparison;  // of them
  std::vector<Plot> plots;
  std::string origin;  // "2026-11-22 09:00:00 UTC from 127.0.0.1:7070"
};

// First the question, what was changed, and outcomes with their reasons. Then the comparison,
// curves, memory as predicted and measured. Last the environment, and how to run it again.
Report ReportOn(const RunFacts& facts);

// The comparison alone: what was changed, and what was measured.
Report ReportOn(const v1::CompareResponse& comparison, const std::string& origin);

}  // namespace trainctl::client
