#include "common/estimate/inspection_key.h"

#include "common/job/job_json.h"
#include "common/job/output_folder.h"
#include "common/job/trains.h"

namespace trainctl::job {

std::string InspectionKey(const JobSpec& job) {
  JobSpec key;
  key.model = job.model;
  key.data = job.data;
  key.train.max_seq_length = job.train.max_seq_length;
  key.eval.prompts = job.eval.prompts;
  key.eval.raw_prompts = job.eval.raw_prompts;
  key.eval.images = job.eval.images;
  // A folder of peft is compared with these.
  if (job.lora) key.lora = {.r = job.lora->r, .alpha = job.lora->alpha};
  if (WritesOutput(job)) key.output = job.output;
  key.checkpoint.resume_from = job.checkpoint.resume_from;
  if (!Trains(job)) key.train.max_steps = 0;  // no data are read
  return ToJson(key);
}

}  // namespace trainctl::job
