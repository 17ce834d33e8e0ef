// What transformers' LlamaTokenizer takes from the files beside tokenizer.model.
//
// Where there is a tokenizer_config.json the folder is one of transformers': a text may hold added
// tokens and the model's control pieces. Else the model is SentencePiece's alone.
// Differences from transformers 5, which converts the model:
//   a text that begins with a space keeps it behind the one that SentencePiece puts there;
//   other classes than LlamaTokenizer, and Mistral's models, get that space too;
//   "legacy": true puts it before each text between added tokens, spaces or not;
//   what the model normalizes itself stays normalized.
#pragma once

#include <string>

#include "common/base/result.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {

// Errors: those of ReadTokensBeside.
base::Result<SentencePieceOptions> ReadSentencePieceOptions(const std::string& directory);

}  // namespace trainctl::data
