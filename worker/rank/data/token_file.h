// Token files: nanoGPT's (raw uint16, no header) and llm.c's (256 int32 of header: magic, version,
// count; then the tokens). llm.c: magic 20240520, version 1 → uint16 (GPT-2); magic 20240801,
// version 7 → uint32 (LLaMA 3). All little endian.
#pragma once

#include <string>

#include "common/base/result.h"
#include "worker/rank/data/token_store.h"
#include "worker/rank/files/mapped_file.h"

namespace trainctl::data {

// kInvalid: a size that is no whole number of tokens, an unknown version, a count that the file's
// size contradicts.
base::Result<TokenStore> ReadTokenFile(files::MappedFile file);

}  // namespace trainctl::data
