// The added tokens of the files beside a tokenizer's own, as transformers 5 reads them:
//   tokenizer_config.json   "added_tokens_decoder" lists tokens by their ids, with their flags;
//   added_tokens.json       lists them without, and is read where the former has no list;
//   special_tokens_map.json is read there too, and speaks before tokenizer_config.json.
// The last and the first name tokens by their roles ("bos_token", "image_token"), and others in
// "additional_special_tokens" or "extra_special_tokens". Each file may be absent.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "worker/rank/tokenizer/added_tokens.h"

namespace trainctl::data {

// A role that has this token where no file names one; null names none.
struct DefaultRole {
  std::string_view role, content;
};

// Errors: kIo, kInvalid: the message names file, key, value and what was expected.
base::Result<TokensBeside> ReadTokensBeside(const std::string& directory,
                                            std::span<const DefaultRole> defaults = {});

}  // namespace trainctl::data
