// The tokens that stand around each row.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/model/model_shape.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {

// The texts of a model's own tokens, added or not; "": it has none.
struct BoundaryTexts {
  std::string bos, eos;
};

struct BoundaryTokens {
  std::vector<int32_t> bos;  // mostly one; empty: none
  int64_t eos = -1;          // −1: none
  BoundaryTexts texts;       // of the tokenizer's files, else of the model's ids
};

// bos is added as the tokenizer's authors do. The first that speaks decides:
//   the post-processor of tokenizer.json, if it adds or orders tokens at all;
//   "add_bos_token" of tokenizer_config.json;
//   the LLaMA tokenizer's default, which adds it: "tokenizer_class" LlamaTokenizer or
//     LlamaTokenizerFast.
// Otherwise there is none, whatever the model's family: transformers' AutoTokenizer adds none there
// either. Its id is the post-processor's, else that of the tokenizer's "bos_token", else the
// model's.
//
// transformers 5 differs: it adds none by LlamaTokenizer's default, which transformers 4 kept and 5
// still documents. Beside a tokenizer.json it does not read "add_bos_token".
//
// eos ends every row, as in LitGPT: the tokenizer's "eos_token", else the model's. What the
// tokenizer's tokens are, special_tokens_map.json says, if tokenizer_config.json lists no added
// tokens; else the latter does.
//
// Errors: kInvalid (a broken tokenizer_config.json; "add_bos_token" without such a token), kIo.
base::Result<BoundaryTokens> ReadBoundaryTokens(const Tokenizer& tokenizer,
                                                const job::ModelShape& model,
                                                const std::string& model_directory);

}  // namespace trainctl::data
