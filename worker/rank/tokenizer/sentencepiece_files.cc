#include "worker/rank/tokenizer/sentencepiece_files.h"

#include <span>
#include <utility>

#include "worker/rank/files/json_file.h"
#include "worker/rank/tokenizer/added_token_files.h"

namespace trainctl::data {
namespace {

constexpr DefaultRole kLlamaRoles[] = {
    {"bos_token", "<s>"}, {"eos_token", "</s>"}, {"unk_token", "<unk>"}};

}  // namespace

base::Result<SentencePieceOptions> ReadSentencePieceOptions(const std::string& directory) {
  SentencePieceOptions options;
  std::span<const DefaultRole> defaults;
  const auto read_config = [&](const files::JsonObject& file) {
    if (file.Text("tokenizer_class", "").starts_with("LlamaTokenizer")) defaults = kLlamaRoles;
    options.has_own_tokens = true;
    options.adds_prefix = file.Flag("add_prefix_space", true);
    options.adds_each_prefix = file.Flag("legacy", false);
  };
  if (auto read = files::ReadJsonFile(directory, "tokenizer_config.json", read_config); !read)
    return read.error();
  auto beside = ReadTokensBeside(directory, defaults);
  if (!beside) return beside.error();
  options.beside = std::move(*beside);
  return options;
}

}  // namespace trainctl::data
