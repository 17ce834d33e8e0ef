#include "worker/rank/data/boundary_tokens.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "worker/rank/files/json_file.h"

namespace trainctl::data {
namespace {

using files::JsonObject;
using nlohmann::json;

constexpr char kConfigName[] = "tokenizer_config.json", kMapName[] = "special_tokens_map.json";

// What tokenizer_config.json says, and special_tokens_map.json; all absent where there is none.
struct TokenizerConfig {
  std::optional<bool> add_bos_token;
  std::string tokenizer_class;
  std::string bos_token;  // its text; "": none
  std::string eos_token;
};

// "<s>", {"content": "<s>", …} or null.
std::string ReadToken(const JsonObject& config, const std::string& key) {
  const json* value = config.Get(key);
  if (value == nullptr) return "";
  return value->is_object() ? config.Object(key).Text("content") : config.Text(key);
}

base::Result<TokenizerConfig> ReadConfig(const std::string& directory) {
  TokenizerConfig config;
  bool has_list = false;  // then transformers does not ask the older file
  auto read = files::ReadJsonFile(directory, kConfigName, [&](const JsonObject& file) {
    if (file.Get("add_bos_token") != nullptr) config.add_bos_token = file.Flag("add_bos_token");
    config.tokenizer_class = file.Text("tokenizer_class", "");
    config.bos_token = ReadToken(file, "bos_token");
    config.eos_token = ReadToken(file, "eos_token");
    has_list = file.Get("added_tokens_decoder") != nullptr;
  });
  if (!read) return read.error();
  read = files::ReadJsonFile(directory, kMapName, [&](const JsonObject& file) {
    if (has_list) return;
    if (file.Has("bos_token")) config.bos_token = ReadToken(file, "bos_token");
    if (file.Has("eos_token")) config.eos_token = ReadToken(file, "eos_token");
  });
  if (!read) return read.error();
  return config;
}

bool AddsBos(const TokenizerConfig& config) {
  if (config.add_bos_token) return *config.add_bos_token;
  return config.tokenizer_class.starts_with("LlamaTokenizer");
}

int64_t IdOf(const Tokenizer& tokenizer, const std::string& token, int64_t otherwise) {
  const int32_t id = token.empty() ? -1 : tokenizer.IdOf(token);
  return id >= 0 ? id : otherwise;
}

std::string TextOfToken(const Tokenizer& tokenizer, const std::string& told, int64_t model_id) {
  if (!told.empty() || model_id < 0) return told;
  const auto id = static_cast<int32_t>(model_id);
  return tokenizer.Decode({&id, 1});
}

}  // namespace

base::Result<BoundaryTokens> ReadBoundaryTokens(const Tokenizer& tokenizer,
                                                const job::ModelShape& model,
                                                const std::string& model_directory) {
  const auto config = ReadConfig(model_directory);
  if (!config) return config.error();
  BoundaryTokens boundary;
  boundary.eos = IdOf(tokenizer, config->eos_token, model.eos_token);
  boundary.texts = {TextOfToken(tokenizer, config->bos_token, model.bos_token),
                    TextOfToken(tokenizer, config->eos_token, model.eos_token)};
  if (const auto& prefix = tokenizer.prefix()) {
    boundary.bos = *prefix;
    return boundary;
  }
  if (!AddsBos(*config)) return boundary;
  const int64_t bos = IdOf(tokenizer, config->bos_token, model.bos_token);
  if (bos >= 0) {
    boundary.bos = {static_cast<int32_t>(bos)};
  } else if (config->add_bos_token) {
    return base::Error{base::Code::kInvalid,
                       model_directory + "/" + kConfigName +
                           ": add_bos_token is true, but neither it nor the model's "
                           "configuration names a bos token of this tokenizer"};
  }
  return boundary;
}

}  // namespace trainctl::data
