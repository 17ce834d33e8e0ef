// Texts by the model that a job has saved: the job that makes them, and showing them as they come.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "client/context.h"
#include "common/base/result.h"
#include "common/job/job.h"
#include "common/job/user_policy.h"

namespace trainctl::client {

// The model that an ended job has saved, the newest. kConflict: the job has not ended. kInvalid: it
// has saved none, and what to do.
base::Result<v1::Artifact> SavedModel(const v1::JobDetail& detail);

// The job that continues the prompts with it: on one device, in the precision that it was trained
// in, and on the host that the model lies on; of the priority that it had, or what is nearest of
// what the policy grants. images: of each prompt, for a model of pictures. Nothing is trained and
// no data are read.
base::Result<job::JobSpec> GenerationOf(const v1::JobDetail& detail, const v1::Artifact& model,
                                        const std::vector<std::string>& prompts,
                                        const std::vector<std::string>& images = {},
                                        const job::UserPolicy& policy = {});

// Prints prompts and what is added to them, one behind the other, each as far as it has come. An
// answer to a turn begins a line.
class TextPrinter {
 public:
  explicit TextPrinter(std::ostream& out) : out_(out) {}

  // The job's texts by now: one that grew is gone on with.
  void Show(const v1::JobDetail& detail);
  // Ends the last line.
  void Finish();

 private:
  std::ostream& out_;
  std::optional<int64_t> place_;  // of the prompt that is being continued
  std::string shown_;             // what is added to it so far
};

// Follows the job to its end; people read texts as they come, scripts a listing then. The exit
// code says how the job ended. Ctrl-C ends trainctl, never the job. Errors are printed.
int FollowTexts(Context& context, const std::string& job,
                const std::optional<int64_t>& timeout_seconds);

}  // namespace trainctl::client
