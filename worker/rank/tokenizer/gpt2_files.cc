#include "worker/rank/tokenizer/gpt2_files.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "worker/rank/files/json_file.h"
#include "worker/rank/tokenizer/added_token_files.h"

namespace trainctl::data {
namespace {

using files::JsonObject;

constexpr char kEndOfText[] = "<|endoftext|>";
constexpr DefaultRole kGpt2Roles[] = {
    {"bos_token", kEndOfText}, {"eos_token", kEndOfText}, {"unk_token", kEndOfText}};
constexpr DefaultRole kQwen2Roles[] = {
    {"pad_token", kEndOfText}, {"eos_token", kEndOfText}, {"unk_token", kEndOfText}};

// Other classes cut the text otherwise, by the same files.
const std::vector<std::string> kGpt2Classes = {"GPT2Tokenizer", "GPT2TokenizerFast"};
const std::vector<std::string> kQwen2Classes = {"Qwen2Tokenizer", "Qwen2TokenizerFast"};
const std::vector<std::string> kGpt2Models = {"gpt2", "opt", "blip-2"};
const std::vector<std::string> kQwen2Models = {"qwen2", "qwen3"};
constexpr char kToDo[] =
    " beside vocab.json and merges.txt; for another make a tokenizer.json, by "
    "AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) of transformers";

// Whether the key's value is one of Qwen's. A fault where it is neither's.
bool IsQwen2(const JsonObject& file, const char* key, const std::vector<std::string>& of_gpt2,
             const std::vector<std::string>& of_qwen2, const std::string& expected) {
  const std::string name = file.Text(key);
  const bool is_qwen2 = std::ranges::find(of_qwen2, name) != of_qwen2.end();
  if (!is_qwen2 && std::ranges::find(of_gpt2, name) == of_gpt2.end())
    file.Expected(key, expected + kToDo);
  return is_qwen2;
}

}  // namespace

base::Result<Gpt2Options> ReadGpt2Options(const std::string& directory) {
  Gpt2Options options;
  bool has_class = false;
  const auto read_config = [&](const JsonObject& file) {
    has_class = file.Get("tokenizer_class") != nullptr;
    if (has_class) {
      options.is_qwen2 = IsQwen2(file, "tokenizer_class", kGpt2Classes, kQwen2Classes,
                                 "GPT2Tokenizer or Qwen2Tokenizer");
    }
    options.add_prefix_space = file.Flag("add_prefix_space", false);
  };
  const auto read_model = [&](const JsonObject& file) {
    if (has_class || file.Get("model_type") == nullptr) return;
    options.is_qwen2 = IsQwen2(file, "model_type", kGpt2Models, kQwen2Models,
                               "gpt2, opt, blip-2, qwen2, qwen3, or a tokenizer_class in "
                               "tokenizer_config.json,");
  };
  if (auto read = files::ReadJsonFile(directory, "tokenizer_config.json", read_config); !read)
    return read.error();
  if (auto read = files::ReadJsonFile(directory, "config.json", read_model); !read)
    return read.error();
  auto beside = ReadTokensBeside(directory, options.is_qwen2 ? kQwen2Roles : kGpt2Roles);
  if (!beside) return beside.error();
  options.beside = std::move(*beside);
  return options;
}

}  // namespace trainctl::data
