#include "worker/rank/files/hf_directory.h"
#include "worker/rank/files/mapped_file.h"
#include "worker/rank/tokenizer/added_token_files.h"
#include "worker/rank/tokenizer/gpt2_files.h"
#include "worker/rank/tokenizer/sentencepiece_files.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {
namespace {

using TokenizerResult = base::Result<std::unique_ptr<Tokenizer>>;
TokenizerResult ParseTokenizerJsonFile(const std::string& directory) {
  const std::string path = directory + "/tokenizer.json";
  auto file = files::MappedFile::Open(path);
  if (!file) return file.error();
  auto beside = ReadTokensBeside(directory);
  if (!beside) return beside.error();
  return ParseTokenizerJson(file->text(), path, *beside);
}

TokenizerResult ParseSentencePieceFile(const std::string& directory) {
  const std::string path = directory + "/tokenizer.model";
  auto file = files::MappedFile::Open(path);
  if (!file) return file.error();
  auto options = ReadSentencePieceOptions(directory);
  if (!options) return options.error();
  return ParseSentencePieceModel(file->text(), path, *options);
}

TokenizerResult ParseGpt2Files(const std::string& directory) {
  auto vocab = files::MappedFile::Open(directory + "/vocab.json");
  if (!vocab) return vocab.error();
  auto merges = files::MappedFile::Open(directory + "/merges.txt");
  if (!merges) return merges.error();
  auto options = ReadGpt2Options(directory);
  if (!options) return options.error();
  return ParseVocabAndMerges(vocab->text(), merges->text(), directory, *options);
}

}  // namespace

TokenizerResult LoadTokenizer(const std::string& directory) {
  const auto has = [&](const char* name) { return files::HasFile(directory, name); };
  if (has("tokenizer.json")) return ParseTokenizerJsonFile(directory);
  if (has("tokenizer.model")) return ParseSentencePieceFile(directory);
  if (has("vocab.json")) return ParseGpt2Files(directory);
  return base::Error{
      base::Code::kNotFound,
      "no tokenizer in '" + directory +
          "': expected tokenizer.json, tokenizer.model, or vocab.json with merges.txt"};
}

}  // namespace trainctl::data
