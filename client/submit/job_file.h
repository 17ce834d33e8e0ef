// Reads what submit was given: a job or lab file with the command line's overrides applied.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/job/job_json.h"

namespace trainctl::client {

struct JobFileOptions {
  std::string path;
  std::string name;        // of the job, or of a whole lab file's group; empty: the file's own
  std::string experiment;  // of a lab file: only this one, as a job; empty: all
  std::vector<job::Override> overrides;
};

// What a job of a sweep differs in from the others.
using Variant = std::vector<job::Override>;

struct JobFile {
  std::vector<job::JobSpec> jobs;  // paths absolute
  bool is_lab = false;
  std::string group_name;  // of a lab file
  std::vector<std::string> notes;
  std::vector<Variant> variants;  // of a sweep: one a job
};

// kNotFound: no such file, no such experiment. kInvalid: an experiment of a file that is no lab;
// else the message lists all problems, one a line. Paths in the file are relative to the file.
// Paths in overrides are relative to the current folder, as every path that is typed.
base::Result<JobFile> OpenJobFile(const JobFileOptions& options);

// The text at options->path, or of `in` where that is "-". Then the path becomes "stdin", as
// messages name it, and paths are relative to the current folder. Errors as of OpenJobFile.
base::Result<std::string> ReadJobSource(std::istream& in, JobFileOptions* options);

// What such a text means; options.path names it in messages.
base::Result<JobFile> ReadJobText(const std::string& text, const JobFileOptions& options);

}  // namespace trainctl::client
