// An assessment in words and as JSON: what submit and submit --dry-run print.
#pragma once

#include <string>

#include "client/show/output.h"
#include "client/submit/assessment.h"

namespace trainctl::client {

// "global 32 = micro 8 × 1 device × accumulation 4".
std::string BatchText(const job::BatchPlan& batch);
// "62 optimizer steps: 1 epoch of 2,000 rows, 32 rows a step".
std::string StepsText(const Assessment& assessment);
// "9.81 GiB predicted peak a device, of 79.25 GiB; gradients reduced in each micro step".
std::string MemoryText(const Assessment& assessment);
// "reduced once a step, held whole (+25.13 GiB)" | "reduced in each micro step"; empty where the
// job has no such choice.
std::string GradientsText(const job::MemoryEstimate& estimate);

// "  steps   62 optimizer steps": one of the facts below; a longer text goes on below itself.
std::string FactText(const std::string& label, const std::string& text, const TableLayout& layout);

// Batch, steps, memory, time and output.
std::string FactsText(const Assessment& assessment, const TableLayout& layout);

// Memory by kind at the four phases of a step, in GiB.
std::string MemoryTableText(const job::MemoryEstimate& estimate, const TableLayout& layout);

// {"name", "job", "batch", "steps", "first_step", "micro_batch_choice", "time", "memory",
// "would_run_on", "not_on", "refused", "notes"}.
Json AssessmentJson(const Assessment& assessment);

}  // namespace trainctl::client
