// Runs the jobs of a sweep, and shows the curve of what came of them. Not thread-safe.
//
// trainctl sweep is one, and so are trainctl submit --matrix and trainctl recipes submit --matrix.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/context.h"
#include "client/submit/submission.h"
#include "client/submit/sweep_curve.h"
#include "client/submit/sweep_points.h"

namespace trainctl::client {

// One sweep, run to its end. What this site refuses is not submitted, and stands in the curve as
// refused. The references outlive it.
class SweepRun {
 public:
  SweepRun(Context& context, Api& api, const Sweep& sweep, const SubmitOptions& options)
      : context_(context), api_(api), sweep_(sweep), options_(options) {}

  // Comes first. Under a lease people are told whether all of it fits that. kInvalid: the site
  // refuses all of them.
  base::Status Assess(const std::optional<v1::Lease>& lease);

  // All at once, as a group, which is waited for if the options say so. Returns the exit code.
  int SubmitGroup();

  // One after the other, from this point on; behind the first that runs out of memory the rest of
  // the last axis is skipped. Returns the exit code.
  int SubmitUntilOutOfMemory(size_t first);

 private:
  bool IsRefused(size_t place) const { return !assessments_[place].site_problems.empty(); }
  // The id of the job, or of the group.
  base::Result<std::string> Submit(const std::vector<size_t>& places,
                                   const std::string& group_name);
  int RunOne(size_t place);
  // Outcomes are set of those that ended. undone: what Ctrl-C leaves undone.
  int FollowTo(const std::string& id, const std::vector<size_t>& places, const std::string& undone);
  // Of what is not refused.
  std::vector<Assessment> Accepted() const;
  // Which points from this one on are not submitted, and how to go on with them; empty: none.
  std::string NotSubmitted(size_t from) const;
  int ShowCurve(int exit_code);

  Context& context_;
  Api& api_;
  const Sweep& sweep_;
  const SubmitOptions& options_;
  std::vector<Assessment> assessments_;  // one a point
  std::vector<SweepResult> results_;     //
};

// --matrix.
void DeclareMatrix(Arguments& arguments, std::vector<job::Override>* matrix);

struct SweepCourse {
  bool stop_at_oom = false;  // one after the other
  int64_t skip = 0;          // of those: the first so many
};

// Shows what it would be, or submits it. Returns the exit code; errors are printed.
int RunSweep(Context& context, Sweep sweep, SubmitOptions options, const SweepCourse& course);

// What is submitted of a job file or recipe: its jobs, or with a matrix a sweep.
struct FileSubmission {
  JobFileOptions file;
  SubmitOptions options;
  std::vector<job::Override> matrix;
  std::string after;
};

// DeclareSubmitOptions, --after, --matrix.
void DeclareFileSubmission(Arguments& arguments, FileSubmission* submission);

// The file's text as the options say. Returns the exit code; errors are printed.
int SubmitFile(Context& context, const std::string& text, FileSubmission submission);

}  // namespace trainctl::client
