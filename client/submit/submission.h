// What every verb that submits shares: jobs are assessed against the site, then shown as a dry run
// or sent as one submission.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "client/arguments.h"
#include "client/context.h"
#include "client/submit/assessment.h"
#include "client/submit/inspection.h"
#include "client/submit/job_file.h"
#include "proto/trainctl.pb.h"

namespace trainctl::client {

struct SubmitOptions {
  std::string source;  // where the jobs came from, for people: "job.json"
  bool wait = false;
  bool dry_run = false;
  bool full = false;   // a dry run tells every setting
  bool force = false;  // also what is predicted to fit no device, or can't be read on its host
  std::optional<int64_t> max_parallel;     // of a group's jobs at once
  std::optional<int64_t> timeout_seconds;  // of waiting
  std::string within;                      // a lease, or of a dry run a time; may be empty
  std::optional<int64_t> within_seconds;   // what all of it is to fit: that, or the lease's rest
  // Instead of what is said of a submission, and of `wait`: what is done with it. The exit code.
  std::function<int(Context&, const v1::SubmitResponse&)> follow = nullptr;
};

// --wait, --timeout, --dry-run, --full, --within, --force, --max-parallel.
void DeclareSubmitOptions(Arguments& arguments, SubmitOptions* options);

// kInvalid: a bound on what is no group.
base::Status CheckBound(bool is_group, const SubmitOptions& options);

// Prints notes, what was submitted or would be, and with `wait` the progress. Returns the exit
// code; errors are printed.
int SubmitJobs(Context& context, const JobFile& file, const SubmitOptions& options);

// One for each job, in order, with its predicted time; notes that the file did not have are
// printed. kInvalid: names the job whose data do not fill one batch.
// lease: under which they are to run, on its devices alone.
base::Result<std::vector<Assessment>> AssessAll(
    Context& context, const JobFile& file, const Site& site, bool force,
    const std::optional<v1::Lease>& lease = std::nullopt);

// People are told how long several jobs take together, as far as that is predicted.
void SayWholeTime(Context& context, const std::vector<Assessment>& assessments,
                  const SubmitOptions& options);

// The problems of those that this site refuses; "": it refuses none.
std::string RefusalsOf(const std::vector<Assessment>& assessments);

// The error that says them. kDenied if this user may not submit here at all, else kInvalid.
base::Error RefusedBySite(const std::vector<Assessment>& assessments);

// All or nothing. kInvalid: jobs that this site refuses, all listed. kUnavailable: no answer after
// some tries. All tries have one request id, so a lost answer causes no second submission.
base::Result<v1::SubmitResponse> Send(Context& context, Api& api, const JobFile& file,
                                      const std::vector<Assessment>& assessments,
                                      const SubmitOptions& options);

}  // namespace trainctl::client
