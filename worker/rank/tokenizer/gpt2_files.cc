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
constexpr char kEndOfText[] = "<|endoftext|>";  // each role but padding, where nothing names one

// Collects tokens; of several with one content the first counts.
class TokenReader {
 public:
  // Of a file that names tokens by their roles.
  void ReadRoles(const JsonObject& file) {
    for (const char* role : kRoles) {
      if (file.Get(role) == nullptr || named_.contains(role)) continue;
      named_.insert(role);
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

  std::vector<AddedToken> Take() {
    const bool is_named = named_.contains("bos_token") && named_.contains("eos_token") &&
                          named_.contains("unk_token");
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
    const bool is_new = std::ranges::none_of(
        tokens_, [&](const AddedToken& other) { return other.content == token.content; });
    if (is_new && !token.content.empty()) tokens_.push_back(std::move(token));
  }

  std::set<std::string, std::less<>> named_;
  std::vector<AddedToken> tokens_;
};

// Other classes cut the text otherwise, by the same files.
void CheckClass(const JsonObject& config) {
  if (config.Get("tokenizer_class") == nullptr) return;
  const std::string name = config.Text("tokenizer_class");
  if (name == "GPT2Tokenizer" || name == "GPT2TokenizerFast") return;
  config.Expected("tokenizer_class",
                  "GPT2Tokenizer beside vocab.json and merges.txt; for another make a "
                  "tokenizer.json, by AutoTokenizer.from_pretrained(DIR).save_pretrained(DIR) of "
                  "transformers");
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
  const auto read_config = [&](const JsonObject& file, const json&) {
    CheckClass(file);
    options.add_prefix_space = file.Flag("add_prefix_space", false);
    tokens.ReadRoles(file);
    const json* decoder = file.Get("added_tokens_decoder");
    if (decoder != nullptr) tokens.ReadDecoder(file.Object("added_tokens_decoder"), *decoder);
  };
  const auto read_map = [&](const JsonObject& file, const json&) { tokens.ReadRoles(file); };
  const auto read_ids = [&](const JsonObject& file, const json& ids) { tokens.ReadIds(file, ids); };
  if (auto read = ReadIfThere(directory, "tokenizer_config.json", read_config); !read)
    return read.error();
  if (auto read = ReadIfThere(directory, "special_tokens_map.json", read_map); !read)
    return read.error();
  if (auto read = ReadIfThere(directory, "added_tokens.json", read_ids); !read) return read.error();
  options.tokens = tokens.Take();
  return options;
}

}  // namespace trainctl::data
