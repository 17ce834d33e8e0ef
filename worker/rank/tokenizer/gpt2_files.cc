#include "worker/rank/tokenizer/gpt2_files.h"

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>

#include "common/base/file.h"
#include "worker/rank/files/hf_directory.h"
#include "worker/rank/files/json_object.h"
#include "worker/rank/files/json_text.h"
#include "worker/rank/tokenizer/post_processor.h"

namespace trainctl::data {
namespace {

using files::JsonObject;
using nlohmann::json;

constexpr size_t kMaxBytes = 64 << 20;  // they may list every added token
constexpr const char* kRoles[] = {"bos_token", "eos_token", "unk_token", "pad_token"};
constexpr char kEndOfText[] = "<|endoftext|>";  // of roles that nothing names

// Collects tokens; of several with one content the first counts, by the first id that is told.
class TokenReader {
 public:
  // Of a file that names tokens by their roles; null is the name of none.
  void ReadRoles(const JsonObject& file) {
    for (const char* role : kRoles) {
      if (!file.Has(role) || !named_.insert(role).second || file.Get(role) == nullptr) continue;
      const bool is_text = file.Get(role)->is_string();
      Add(is_text ? AddedToken{.id = -1, .content = file.Text(role), .normalized = false}
                  : TokenOf(file.Object(role)));
    }
  }

  // {"1": {"content": "<pad>", …}, …}
  void ReadDecoder(const JsonObject& decoder, const json& ids) {
    for (auto entry = ids.begin(); ids.is_object() && entry != ids.end(); ++entry) {
      AddedToken token = TokenOf(decoder.Object(entry.key()));
      token.id = IdOf(decoder, entry.key());
      Add(std::move(token));
    }
  }

  // {"<image>": 50265, …}
  void ReadIds(const JsonObject& file, const json& ids) {
    for (auto entry = ids.begin(); ids.is_object() && entry != ids.end(); ++entry) {
      const auto id = static_cast<int32_t>(file.Integer(entry.key(), 0, kMaxId));
      Add({.id = id, .content = entry.key(), .normalized = false});
    }
  }

  std::vector<AddedToken> Take(bool is_qwen2) {
    const bool is_named = named_.contains(is_qwen2 ? "pad_token" : "bos_token") &&
                          named_.contains("eos_token") && named_.contains("unk_token");
    if (!is_named) Add({.id = -1, .content = kEndOfText, .normalized = false});
    return std::move(tokens_);
  }

 private:
  static AddedToken TokenOf(const JsonObject& token) {
    return {.id = -1,
            .content = token.Text("content"),
            .single_word = token.Flag("single_word", false),
            .lstrip = token.Flag("lstrip", false),
            .rstrip = token.Flag("rstrip", false),
            .normalized = token.Flag("normalized", false),
            .special = token.Flag("special", true)};
  }

  static int32_t IdOf(const JsonObject& decoder, const std::string& text) {
    const bool is_number = !text.empty() && text.size() <= 7 &&
                           std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    const int32_t id = is_number ? std::stoi(text) : -1;
    if (id < 0 || id > kMaxId) decoder.Expected(text, "the key of an id");
    return id;
  }

  void Add(AddedToken token) {
    const auto same = std::ranges::find(tokens_, token.content, &AddedToken::content);
    if (same != tokens_.end() && same->id < 0) same->id = token.id;
    if (same == tokens_.end() && !token.content.empty()) tokens_.push_back(std::move(token));
  }

  std::set<std::string, std::less<>> named_;
  std::vector<AddedToken> tokens_;
};

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

using Read = std::function<void(const JsonObject& file, const json& document)>;

// Nothing is read where there is no such file.
base::Status ReadIfThere(const std::string& directory, const char* name, const Read& read) {
  if (!files::HasFile(directory, name)) return base::Ok{};
  const std::string path = directory + "/" + name;
  const auto text = base::ReadRegularFile(path, kMaxBytes);
  if (!text) return text.error();
  const auto document = files::ParseJsonText(*text, path);
  if (!document) return document.error();
  files::Fault fault;
  read(JsonObject(*document, path + ": ", &fault), *document);
  if (fault) return *fault;
  return base::Ok{};
}

}  // namespace

base::Result<Gpt2Options> ReadGpt2Options(const std::string& directory) {
  Gpt2Options options;
  TokenReader tokens;
  bool has_class = false;
  const auto read_config = [&](const JsonObject& file, const json&) {
    has_class = file.Get("tokenizer_class") != nullptr;
    if (has_class) {
      options.is_qwen2 = IsQwen2(file, "tokenizer_class", kGpt2Classes, kQwen2Classes,
                                 "GPT2Tokenizer or Qwen2Tokenizer");
    }
    options.add_prefix_space = file.Flag("add_prefix_space", false);
    tokens.ReadRoles(file);
    const json* decoder = file.Get("added_tokens_decoder");
    if (decoder != nullptr) tokens.ReadDecoder(file.Object("added_tokens_decoder"), *decoder);
  };
  const auto read_model = [&](const JsonObject& file, const json&) {
    if (has_class || file.Get("model_type") == nullptr) return;
    options.is_qwen2 = IsQwen2(file, "model_type", kGpt2Models, kQwen2Models,
                               "gpt2, opt, blip-2, qwen2, qwen3, or a tokenizer_class in "
                               "tokenizer_config.json,");
  };
  const auto read_map = [&](const JsonObject& file, const json&) { tokens.ReadRoles(file); };
  const auto read_ids = [&](const JsonObject& file, const json& ids) { tokens.ReadIds(file, ids); };
  if (auto read = ReadIfThere(directory, "tokenizer_config.json", read_config); !read)
    return read.error();
  if (auto read = ReadIfThere(directory, "config.json", read_model); !read) return read.error();
  if (auto read = ReadIfThere(directory, "special_tokens_map.json", read_map); !read)
    return read.error();
  if (auto read = ReadIfThere(directory, "added_tokens.json", read_ids); !read) return read.error();
  options.tokens = tokens.Take(options.is_qwen2);
  return options;
}

}  // namespace trainctl::data
