// A job's facts in words, the same on the terminal (trainctl describe) and in a report
// (job_report.h). Pure; empty where there is nothing to say.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "client/show/text_table.h"
#include "common/job/outcome.h"
#include "common/record/summaries.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

using record::SummariesOf;

std::string GroupText(const v1::JobView& view);  // "lab (g3)"
// "lab (g3)", or the one job: "tiny (j3)". Not of an empty answer.
std::string GroupOrJobText(const v1::GetResponse& jobs);
std::string StepsText(const v1::JobView& view);  // "1,200 of 2,000"
std::string TimeText(int64_t micros);            // of 0: empty
// "about 2026-11-22 14:20:05, a prediction"
std::string PredictedStartText(const v1::JobView& view);

// "tiny (j3) has no rank 7: it has 2". Empty where it has that rank.
std::string NoRankText(const v1::JobView& view, int64_t rank);

// The settings that say something, as the job was resolved: lora.targets are those in force. Empty
// where it cannot be read.
std::vector<std::pair<std::string, std::string>> SettingsOf(const v1::JobDetail& detail);

// What ended the attempt: "rank 1", "exit code 3", "signal 9".
std::vector<std::string> Causes(const v1::AttemptView& attempt);

// What memory held where the attempt ran out of it.
std::optional<job::OomDetail> OomOf(const v1::AttemptView& attempt);

// "asked for 2.00 GiB in backward with a limit of 10.00 GiB"
std::string OomText(const job::OomDetail& oom);

// A row for each summary: metric, rank, phase, latest, min, mean (job::Average), max, points.
void AddSummaries(const v1::JobDetail& detail, TextTable* table);

// What happened to it and when, a line each.
std::string EventLines(const v1::JobDetail& detail, const TableLayout& layout);

}  // namespace trainctl::client
