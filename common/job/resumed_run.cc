#include "common/job/resumed_run.h"

#include "common/job/output_folder.h"

namespace trainctl::job {
namespace {

bool TrainsOn(const JobSpec& job, std::optional<int64_t> total_steps, const ResumedRun& earlier) {
  if (total_steps && earlier.steps > 0) return *total_steps > earlier.steps;
  return job.train.epochs != earlier.spec.train.epochs ||
         job.train.max_steps != earlier.spec.train.max_steps;
}

bool Overwrites(const JobSpec& job, const ResumedRun& earlier) {
  return earlier.has_model && WritesOutput(job) && earlier.spec.output.dir &&
         NormalFolder(*job.output.dir) == NormalFolder(*earlier.spec.output.dir);
}

}  // namespace

bool IsModel(const std::string& artifact_kind) {
  return artifact_kind != "checkpoint" && artifact_kind != "profile";
}

bool HasNothingLeft(const ResumedRun& run) {
  const bool has_all = run.has_model || run.spec.output.save == Save::kNone;
  return run.succeeded || (run.steps > 0 && run.step >= run.steps && has_all);
}

std::optional<Problem> CheckResumedRun(const JobSpec& job, std::optional<int64_t> total_steps,
                                       const ResumedRun& earlier) {
  if (!HasNothingLeft(earlier)) return std::nullopt;
  const bool trains_on = TrainsOn(job, total_steps, earlier);
  const bool overwrites = Overwrites(job, earlier);
  if (trains_on && !overwrites) return std::nullopt;
  const std::string words = earlier.spec.name + " (" + earlier.id + ") has made all its" +
                            (earlier.steps > 0 ? " " + std::to_string(earlier.steps) : "") +
                            " steps" +
                            (overwrites ? ", and its model is in " + *earlier.spec.output.dir : "");
  std::string advice = "to train it on, give ";
  if (!trains_on) advice += "more steps, as with --train.epochs N or --train.max_steps N";
  if (!trains_on && overwrites) advice += ", and ";
  if (overwrites) advice += "another folder for the new model: --output.dir DIR";
  return Problem{"checkpoint.resume_job", 0, "\"" + earlier.id + "\"",
                 "a job that has steps left: " + words, advice};
}

}  // namespace trainctl::job
