// tokenizer.json, and the older vocab.json + merges.txt of GPT-2, → HuggingFaceTokenizer.
#include <nlohmann/json.hpp>
#include <utility>

#include "worker/rank/files/json_object.h"
#include "worker/rank/files/json_text.h"
#include "worker/rank/tokenizer/hugging_face_tokenizer.h"
#include "worker/rank/tokenizer/post_processor.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {
namespace {

using files::JsonObject;
using nlohmann::json;

using MergePair = std::pair<std::string, std::string>;

StringMap<int32_t> ReadVocab(const json& vocab, const JsonObject& owner) {
  StringMap<int32_t> ids;
  if (!vocab.is_object()) owner.Fail("the vocabulary is not an object of entry → id");
  for (auto entry = vocab.begin(); vocab.is_object() && entry != vocab.end(); ++entry) {
    if (!entry->is_number_unsigned() || entry->get<uint64_t>() > kMaxId) {
      const std::string expected = ": expected an id from 0 to " + std::to_string(kMaxId);
      owner.Fail("vocabulary entry " + json(entry.key()).dump() + ": " + entry->dump() + expected);
      break;
    }
    ids.emplace(entry.key(), entry->get<int32_t>());
  }
  return ids;
}

// "left right": exactly one space.
std::optional<MergePair> ParseMergeLine(std::string_view line) {
  const size_t space = line.find(' ');
  if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
    return std::nullopt;
  return MergePair(line.substr(0, space), line.substr(space + 1));
}

// Merges come as "left right", or, in newer files, as ["left", "right"].
std::optional<MergePair> ReadMerge(const json& merge) {
  if (merge.is_string()) return ParseMergeLine(merge.get_ref<const std::string&>());
  if (!merge.is_array() || merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string())
    return std::nullopt;
  return MergePair(merge[0].get<std::string>(), merge[1].get<std::string>());
}

std::vector<MergePair> ReadMerges(const JsonObject& model) {
  std::vector<MergePair> merges;
  const json* list = model.Get("merges");
  if (list == nullptr || !list->is_array()) {
    model.Expected("merges", "a list");
    return merges;
  }
  for (size_t i = 0; i < list->size(); ++i) {
    auto merge = ReadMerge((*list)[i]);
    if (!merge) {
      model.Fail("merges[" + std::to_string(i) + "]: " + (*list)[i].dump() +
                 ": expected \"left right\" or [\"left\", \"right\"]");
      break;
    }
    merges.push_back(*std::move(merge));
  }
  return merges;
}

BpeSpec ReadModel(const JsonObject& model, bool byte_level) {
  BpeSpec spec;
  if (model.Get("type") != nullptr) model.Only("type", "BPE");
  model.Only("dropout", nullptr);
  for (const char* affix : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    if (!model.Text(affix, "").empty())
      model.Expected(affix, "null; anything else is not yet supported");
  }
  const json* vocab = model.Get("vocab");
  spec.vocab = ReadVocab(vocab == nullptr ? json() : *vocab, model);
  spec.merges = ReadMerges(model);
  if (model.Get("unk_token") != nullptr) spec.unk_token = model.Text("unk_token");
  spec.fuse_unk = model.Flag("fuse_unk", false);
  spec.byte_fallback = model.Flag("byte_fallback", false);
  spec.ignore_merges = model.Flag("ignore_merges", false);
  spec.byte_level = byte_level;
  return spec;
}

std::vector<AddedToken> ReadAddedTokens(const JsonObject& tokenizer) {
  std::vector<AddedToken> tokens;
  for (const JsonObject& entry : tokenizer.Objects("added_tokens")) {
    AddedToken token;
    token.content = entry.Text("content");
    token.id = static_cast<int32_t>(entry.Integer("id", 0, kMaxId));
    token.single_word = entry.Flag("single_word", false);
    token.lstrip = entry.Flag("lstrip", false);
    token.rstrip = entry.Flag("rstrip", false);
    token.special = entry.Flag("special", false);
    token.normalized = entry.Flag("normalized", !token.special);
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::vector<AddedToken> Joined(std::vector<AddedToken> own, const TokensBeside& beside,
                               const BpeModel& model) {
  return JoinAddedTokens(
      std::move(own), beside, [&](std::string_view entry) { return model.IdOf(entry); },
      std::ssize(model.vocab()));
}

std::unique_ptr<Tokenizer> Assemble(TokenizerParts parts) {
  return std::make_unique<HuggingFaceTokenizer>(std::move(parts));
}

base::Error AtModel(const std::string& source, const base::Error& error) {
  return {error.code, source + ": model: " + error.message};
}

base::Result<std::vector<MergePair>> ParseMergesText(std::string_view text,
                                                     const std::string& source) {
  std::vector<MergePair> merges;
  for (int64_t number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty() || line.starts_with("#version")) continue;
    auto merge = ParseMergeLine(line);
    if (!merge) {
      const std::string place = source + " (merges): line " + std::to_string(number);
      return base::Error{base::Code::kInvalid,
                         place + ": expected two entries and one space between them"};
    }
    merges.push_back(*std::move(merge));
  }
  return merges;
}

}  // namespace

base::Result<std::unique_ptr<Tokenizer>> ParseTokenizerJson(std::string_view text,
                                                            const std::string& source,
                                                            const TokensBeside& beside) {
  auto document = files::ParseJsonText(text, source);
  if (!document) return document.error();
  files::Fault fault;
  const JsonObject root(*document, source + ": ", &fault);
  Normalizer normalizer = Normalizer::Read(root);
  PreTokenizer pre_tokenizer = PreTokenizer::Read(root);
  Decoder decoder = Decoder::Read(root);
  auto prefix = ReadPrefixIds(root);
  BpeSpec spec = ReadModel(root.Object("model"), pre_tokenizer.byte_level());
  if (fault) return *fault;
  auto model = BpeModel::Create(std::move(spec));
  if (!model) return AtModel(source, model.error());
  std::vector<AddedToken> own = ReadAddedTokens(root);
  if (fault) return *fault;
  std::vector<AddedToken> added_tokens = Joined(std::move(own), beside, *model);
  return Assemble({std::move(added_tokens), std::move(normalizer), std::move(pre_tokenizer),
                   std::move(model).value(), std::move(decoder), std::move(prefix)});
}

base::Result<std::unique_ptr<Tokenizer>> ParseVocabAndMerges(std::string_view vocab,
                                                             std::string_view merges,
                                                             const std::string& source,
                                                             const Gpt2Options& options) {
  auto document = files::ParseJsonText(vocab, source + " (vocab)");
  if (!document) return document.error();
  auto pairs = ParseMergesText(merges, source);
  if (!pairs) return pairs.error();
  files::Fault fault;
  BpeSpec spec;
  spec.vocab = ReadVocab(*document, JsonObject(*document, source + " (vocab): ", &fault));
  spec.merges = std::move(pairs).value();
  spec.byte_level = true;
  if (fault) return *fault;
  auto model = BpeModel::Create(std::move(spec));
  if (!model) return AtModel(source, model.error());
  std::vector<AddedToken> added_tokens = Joined({}, options.beside, *model);
  return Assemble({std::move(added_tokens), options.is_qwen2 ? Normalizer::Nfc() : Normalizer(),
                   options.is_qwen2 ? PreTokenizer::Qwen2(options.add_prefix_space)
                                    : PreTokenizer::ByteLevel(options.add_prefix_space),
                   std::move(model).value(), Decoder::ByteLevel()});
}

}  // namespace trainctl::data
