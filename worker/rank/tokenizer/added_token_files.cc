#include "worker/rank/tokenizer/added_token_files.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <utility>

#include "worker/rank/files/json_file.h"
#include "worker/rank/tokenizer/post_processor.h"

namespace trainctl::data {
namespace {

using files::JsonObject;
using nlohmann::json;

// Tokens without an id get theirs in this order.
constexpr const char* kRoles[] = {"bos_token", "eos_token", "unk_token", "sep_token",
                                  "pad_token", "cls_token", "mask_token"};
constexpr const char* kMoreNames[] = {"extra_special_tokens", "additional_special_tokens"};
constexpr char kToken[] = "a token's text, or an object of its content and flags";

bool IsRole(std::string_view key) { return std::ranges::find(kRoles, key) != std::end(kRoles); }

// nullopt: that is no flag.
std::optional<bool> FlagOf(const json& token, const char* flag, bool absent) {
  const auto found = token.find(flag);
  if (found == token.end() || found->is_null()) return absent;
  return found->is_boolean() ? std::optional(found->get<bool>()) : std::nullopt;
}

// By its text, or by an object; is_special: whatever the object says. nullopt: that is no token.
std::optional<AddedToken> TokenOf(const json& value, bool is_special) {
  if (value.is_string())
    return AddedToken{.id = -1, .content = value, .normalized = false, .special = true};
  const auto content = value.find("content");
  if (!value.is_object() || content == value.end() || !content->is_string()) return std::nullopt;
  const auto special = is_special ? true : FlagOf(value, "special", false);
  const auto normalized = FlagOf(value, "normalized", !special.value_or(false));
  const auto single_word = FlagOf(value, "single_word", false);
  const auto lstrip = FlagOf(value, "lstrip", false), rstrip = FlagOf(value, "rstrip", false);
  if (!special || !normalized || !single_word || !lstrip || !rstrip) return std::nullopt;
  return AddedToken{.id = -1,
                    .content = *content,
                    .single_word = *single_word,
                    .lstrip = *lstrip,
                    .rstrip = *rstrip,
                    .normalized = *normalized,
                    .special = *special};
}

class TokenReader {
 public:
  void ReadConfig(const JsonObject& file) {
    ReadNames(file);
    has_list_ = file.Get("added_tokens_decoder") != nullptr;
    if (has_list_) ReadDecoder(file.Object("added_tokens_decoder"));
  }

  void ReadMap(const JsonObject& file) {
    if (!has_list_) ReadNames(file);
  }

  void ReadIds(const JsonObject& file) {
    if (has_list_) return;
    const std::set<std::string> names = Names(/*of_any_key=*/false);
    for (const std::string& content : file.Keys()) {
      const auto id = static_cast<int32_t>(file.Integer(content, 0, kMaxId));
      const bool is_special = names.contains(content);
      AddListed({.id = id, .content = content, .normalized = !is_special, .special = is_special});
    }
  }

  TokensBeside Take(std::span<const DefaultRole> defaults) {
    for (const DefaultRole& one : defaults) {
      roles_.try_emplace(
          std::string(one.role),
          AddedToken{.id = -1, .content = std::string(one.content), .normalized = false});
    }
    const std::set<std::string> names = Names(/*of_any_key=*/true);
    for (AddedToken& token : tokens_.listed)
      token.special = token.special || names.contains(token.content);
    std::ranges::stable_sort(tokens_.listed, {}, &AddedToken::id);
    for (const char* role : kRoles) {
      if (auto known = roles_.extract(role)) AddNamed(known.mapped());
    }
    for (const auto& [role, token] : roles_) AddNamed(token);
    for (const AddedToken& token : others_) AddNamed(token);
    return std::move(tokens_);
  }

 private:
  using Role = std::optional<AddedToken>;  // nullopt: it has none

  void ReadNames(const JsonObject& file) {
    for (const std::string& key : file.Keys()) {
      const json* value = file.Get(key);
      if (value == nullptr && IsRole(key)) roles_[key] = std::nullopt;
      if (value == nullptr || !key.ends_with("_token")) continue;
      auto token = TokenOf(*value, /*is_special=*/true);
      if (!token && IsRole(key)) file.Expected(key, kToken);
      if (token) roles_[key] = std::move(token);
    }
    for (const char* key : kMoreNames) {
      if (const json* value = file.Get(key)) ReadOthers(file, key, *value);
    }
  }

  // ["<tool>", {"content": "<pad>", …}], or an object of such.
  void ReadOthers(const JsonObject& file, const char* key, const json& list) {
    if (!list.is_structured()) file.Expected(key, "a list of tokens");
    for (auto one = list.begin(); list.is_structured() && one != list.end(); ++one) {
      auto token = TokenOf(*one, /*is_special=*/true);
      if (!token) file.Expected(key, std::string("of each ") + kToken);
      if (token) others_.push_back(std::move(*token));
    }
  }

  // {"1": {"content": "<pad>", …}, …}
  void ReadDecoder(const JsonObject& decoder) {
    for (const std::string& key : decoder.Keys()) {
      const json* value = decoder.Get(key);
      auto token = value == nullptr ? std::nullopt : TokenOf(*value, /*is_special=*/false);
      if (!token) decoder.Expected(key, kToken);
      if (!token) return;
      token->id = IdOf(decoder, key);
      AddListed(std::move(*token));
    }
  }

  static int32_t IdOf(const JsonObject& decoder, const std::string& text) {
    const bool is_number = !text.empty() && text.size() <= 7 &&
                           std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
    const int32_t id = is_number ? std::stoi(text) : -1;
    if (id < 0 || id > kMaxId) decoder.Expected(text, "the key of an id");
    return id;
  }

  // Of roles, or of those alone that transformers knows, and of the others.
  std::set<std::string> Names(bool of_any_key) const {
    std::set<std::string> names;
    for (const auto& [role, token] : roles_) {
      if (token && (of_any_key || IsRole(role))) names.insert(token->content);
    }
    for (const AddedToken& token : others_) names.insert(token.content);
    return names;
  }

  void AddListed(AddedToken token) {
    if (!token.content.empty()) tokens_.listed.push_back(std::move(token));
  }
  void AddNamed(const Role& token) {
    if (token && !token->content.empty()) tokens_.named.push_back(*token);
  }

  bool has_list_ = false;
  std::map<std::string, Role> roles_;
  std::vector<AddedToken> others_;
  TokensBeside tokens_;
};

}  // namespace

base::Result<TokensBeside> ReadTokensBeside(const std::string& directory,
                                            std::span<const DefaultRole> defaults) {
  TokenReader reader;
  using Read = void (TokenReader::*)(const JsonObject&);
  const std::pair<const char*, Read> steps[] = {
      {"tokenizer_config.json", &TokenReader::ReadConfig},
      {"special_tokens_map.json", &TokenReader::ReadMap},
      {"added_tokens.json", &TokenReader::ReadIds},
  };
  for (const auto& [name, read] : steps) {
    const auto done =
        files::ReadJsonFile(directory, name, [&](const JsonObject& file) { (reader.*read)(file); });
    if (!done) return done.error();
  }
  return reader.Take(defaults);
}

}  // namespace trainctl::data
