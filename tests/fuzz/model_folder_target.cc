// The small files of a model's folder. The input is all of them at once, since each takes only the
// keys that it knows.
#include <string>

#include "tests/fuzz/scratch_file.h"
#include "tests/fuzz/targets.h"
#include "worker/rank/data/boundary_tokens.h"
#include "worker/rank/data/own_template.h"
#include "worker/rank/data/token_file.h"
#include "worker/rank/files/generation_config.h"
#include "worker/rank/files/preprocessor_config.h"
#include "worker/rank/files/weights.h"
#include "worker/rank/tokenizer/gpt2_files.h"
#include "worker/rank/tokenizer/sentencepiece_files.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::fuzz {

bool ReadModelFolder(std::string_view bytes) {
  static const ScratchFolder folder;
  static const auto tokenizer =
      data::ParseVocabAndMerges(R"({"a": 0, "b": 1, "ab": 2})", "a b\n", "t").value();
  for (const char* name :
       {"added_tokens.json", "config.json", "generation_config.json",
        "model.safetensors.index.json", "preprocessor_config.json", "processor_config.json",
        "special_tokens_map.json", "tokenizer_config.json"})
    folder.Write(name, bytes);
  const job::ModelShape shape{.vocab = 512};
  const bool options = data::ReadGpt2Options(folder.path()).ok();
  const bool sentencepiece = data::ReadSentencePieceOptions(folder.path()).ok();
  const bool boundary = data::ReadBoundaryTokens(*tokenizer, shape, folder.path()).ok();
  const bool jinja = data::ReadOwnTemplate(folder.path()).ok();
  const bool generation = files::ReadGenerationConfig(folder.path(), shape).ok();
  const bool pictures = files::CheckPreprocessor(folder.path(), 224).ok();
  const bool weights = files::WeightFiles::Open(folder.path()).ok();
  auto file = files::MappedFile::Open(folder.path() + "/added_tokens.json");
  const auto tokens = data::ReadTokenFile(std::move(file).value());
  for (int64_t i = 0; tokens && i < tokens->size(); ++i) {
    if ((*tokens)[i] == -1) break;
  }
  return options || sentencepiece || boundary || jinja || generation || pictures || weights;
}

}  // namespace trainctl::fuzz
