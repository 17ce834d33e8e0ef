// The texts that a job's model continues (eval.prompts), as tokens and back.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"
#include "common/model/model_shape.h"
#include "worker/rank/files/generation_config.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {

// Immutable.
struct Prompts {
  std::unique_ptr<Tokenizer> tokenizer;
  // Of each: a picture's placeholders, bos, the text; or what stands before an answer.
  std::vector<std::vector<int32_t>> ids;
  files::GenerationConfig generation;  // with all ids that end a continuation

  bool empty() const { return ids.empty(); }
  // Tokens of the longest one.
  int64_t longest() const;
};

// bos stands before a prompt as before the rows of the data. Prompts that are turns
// (job::PromptsAreTurns) are written by the template that writes the data's, up to where the answer
// begins. A continuation ends at the model's own eos tokens, as transformers' generate does, and at
// the one that ends answers. Of a model that names none, at the one that ends rows. Without prompts
// nothing is read.
//
// Errors: kNotFound (no tokenizer), kIo, kInvalid. All name "eval.prompts", or one of them: no
// token, one beyond the vocabulary, more than the model has positions for; those of
// ChatEncoder::Create.
base::Result<Prompts> ReadPrompts(const job::JobSpec& job, const job::ModelShape& model,
                                  const std::string& model_directory);

// What the tokens add to the prompt's text. Special tokens are left out; bytes that form no UTF-8
// are U+FFFD; at most max_bytes.
std::string AddedText(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                      std::span<const int32_t> added, size_t max_bytes);

}  // namespace trainctl::data
