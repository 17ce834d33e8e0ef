// The smallest job that passes the check, and readers of files made of text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "common/job/job_json.h"

namespace trainctl::job {

inline constexpr char kSmallestJob[] =
    R"({"version": 1, "model": {"path": "m"}, "data": {"path": "d"}, "train": {"micro_batch_size": 1}})";

inline ReadJob Read(std::string_view text, std::vector<Override> overrides = {}) {
  return ReadJobFile(text, {.source = "job.json",
                            .default_name = "job",
                            .base_directory = "",
                            .overrides = std::move(overrides)});
}

inline JobSpec SmallestJob() {
  JobSpec job;
  job.name = "job";
  job.model.path = "m";
  job.data.path = "d";
  job.train.micro_batch_size = 1;
  return job;
}

}  // namespace trainctl::job
