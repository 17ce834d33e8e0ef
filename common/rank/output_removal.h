// The removal of what a job has written in its output.dir: what the coordinator asks a worker of a
// host. Which files those are was recorded when they were saved (common/base/saved_folder.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace trainctl::job {

struct SavedPlace {
  std::string path;    // absolute: a file, or a folder
  std::string record;  // of the rank that saved it; empty: it made none
};

struct RemovalQuestion {
  // Of all records together: they travel in one message.
  static constexpr size_t kMaxRecordBytes = size_t{3} << 20;

  std::string path;  // the job's output.dir, absolute
  std::string site;  // with job: whose the folder is by its owner file (job/output_folder.h)
  std::string job;   // "j12"
  std::vector<SavedPlace> saved;  // of one path there may be several
  bool look_only = false;         // remove nothing: tell what would be removed
  std::string owner = {};         // of the job; empty: not known
};

// What stays though the job has to do with it.
struct LeftPath {
  std::string path;  // absolute
  std::string why;   // "was changed since it was saved"
};

struct RemovalAnswer {
  static constexpr size_t kMaxLeft = 100;

  int64_t files = 0;           // that were removed; those that were gone already do not count
  int64_t bytes = 0;           // of them
  std::vector<LeftPath> left;  // the first of them
};

// What of a job lies on one host.
struct HostOutputs {
  std::string host;
  RemovalAnswer answer;
};

}  // namespace trainctl::job
