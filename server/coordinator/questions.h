// What clients ask of the store, for the read thread. Errors: kNotFound with the name that nothing
// is called by; kIo.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/result.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

// One job or group, by id or name.
base::Result<store::Reader::Found> FindOne(store::Reader& reader, const std::string& name);

// The jobs of several jobs and groups in the order named, each once.
base::Result<std::vector<base::JobId>> FindJobs(store::Reader& reader,
                                                const std::vector<std::string>& names);

// Exactly these jobs, in this order.
base::Result<std::vector<store::StoredJob>> ReadJobs(store::Reader& reader,
                                                     const std::vector<base::JobId>& jobs);

struct JobDetail {
  store::StoredJob job;
  std::vector<store::StoredAttempt> attempts;
  std::vector<core::EventRow> events;
  std::vector<job::MetricSummary> summaries;
  std::vector<core::ArtefactRow> artefacts;          // oldest first; of each path the latest
  std::vector<job::RankContinuation> continuations;  // that were asked for
  std::vector<int64_t> text_steps;                   // of which there are some
};
struct Details {
  base::GroupId group;  // 0: a job was named
  std::string group_name;
  std::vector<JobDetail> jobs;
};
base::Result<Details> ReadDetails(store::Reader& reader, const std::string& name,
                                  const store::TextsQuestion& texts);

struct ArtifactPlace {
  std::vector<std::string> workers;  // of its host, the worker whose rank saved it first
  std::string record;                // which files were saved (common/base/saved_folder.h)
  std::string owner;                 // of the job
};
// Where a rank of the job has saved this path, as of the last time. kNotFound: none has; the
// message lists what was.
base::Result<ArtifactPlace> FindArtifact(store::Reader& reader, const core::JobRow& job,
                                         const std::string& path);

// The one job that is named. kInvalid: a group of several; the message lists them.
base::Result<store::StoredJob> ReadOneJob(store::Reader& reader, const std::string& name);

}  // namespace trainctl::coordinator
