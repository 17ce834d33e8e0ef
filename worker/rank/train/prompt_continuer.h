// What the model makes of a job's prompts, told at each evaluation, or as it comes.
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <vector>

#include "common/job/job.h"
#include "common/model/model_shape.h"
#include "worker/rank/comm/communicator.h"
#include "worker/rank/data/dataset.h"
#include "worker/rank/data/prompts.h"
#include "worker/rank/model/continue_texts.h"
#include "worker/rank/model/model.h"
#include "worker/rank/process/commands.h"
#include "worker/rank/process/reporter.h"
#include "worker/rank/train/micro_batches.h"

namespace trainctl::train {

// Everything that it works with, and that outlives it.
struct PromptParts {
  const job::JobSpec& job;
  const job::ModelShape& shape;
  const data::Prompts& prompts;
  const data::Dataset* dataset = nullptr;  // both null of a job that reads no data
  const MicroBatches* batches = nullptr;   //
  int64_t micro_batch = 1;                 // rows
  std::vector<at::Tensor> pictures = {};   // of each prompt, of such a job with eval.images
  const model::Model& model;
  comm::Communicator& comm;
  Reporter& reporter;
  const Commands& commands;
  at::Device device;
};

class PromptContinuer {
 public:
  explicit PromptContinuer(const PromptParts& parts) : parts_(parts) {}

  // Continues them, on all ranks alike: weights may be gathered for each token. Rank 0 tells the
  // texts, and writes a line of each into its log. A model of pictures is given those of the first
  // validation rows, as many as there are prompts. A stop that rank 0 hears ends it without texts.
  // A job that does not train continues one prompt after the other. It tells a text again whenever
  // it has grown by some tokens.
  // progress: of tokens(). Collective.
  void Run(int64_t steps_done, ops::Context& context,
           const std::function<void(int64_t)>& progress) const;

  // That all prompts together may get.
  int64_t tokens() const { return std::ssize(parts_.prompts.ids) * parts_.job.eval.max_new_tokens; }

 private:
  std::vector<model::TextStart> Starts() const;
  // "": there is none.
  std::string PictureName(size_t place) const;
  job::RankContinuation Said(int64_t step, size_t place, const std::vector<int32_t>& added) const;
  void Tell(int64_t step, size_t place, const std::vector<int32_t>& added) const;
  void TellPart(int64_t step, size_t place, const std::vector<int32_t>& added) const;
  // The validation row whose picture the prompt is for.
  int64_t RowOf(size_t place) const { return parts_.dataset->val[place]; }

  const PromptParts parts_;
};

}  // namespace trainctl::train
