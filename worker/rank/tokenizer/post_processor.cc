#include "worker/rank/tokenizer/post_processor.h"

#include <nlohmann/json.hpp>

namespace trainctl::data {
namespace {

using files::JsonObject;
using nlohmann::json;
using Prefix = std::optional<std::vector<int32_t>>;

bool IsId(const json& value) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= kMaxId;
}

void AppendIds(const JsonObject& special, std::vector<int32_t>* ids) {
  const json* listed = special.Get("ids");
  if (listed == nullptr || !listed->is_array()) return special.Expected("ids", "a list of ids");
  for (const json& id : *listed) {
    if (!IsId(id)) return special.Expected("ids", "a list of ids");
    ids->push_back(id.get<int32_t>());
  }
}

// {"single": [{"SpecialToken": {"id": "<s>"}}, {"Sequence": {"id": "A"}}, …],
//  "special_tokens": {"<s>": {"ids": [1]}}}
std::vector<int32_t> ReadTemplate(const JsonObject& processor) {
  std::vector<int32_t> ids;
  for (const JsonObject& piece : processor.Objects("single")) {
    if (piece.Has("Sequence")) break;
    const std::string name = piece.Object("SpecialToken").Text("id");
    AppendIds(processor.Object("special_tokens").Object(name), &ids);
    if (processor.failed()) break;
  }
  return ids;
}

// {"cls": ["<s>", 0], …}
std::vector<int32_t> ReadClassifier(const JsonObject& processor) {
  const json* cls = processor.Get("cls");
  if (cls != nullptr && cls->is_array() && cls->size() == 2 && IsId(cls->back()))
    return {cls->back().get<int32_t>()};
  processor.Expected("cls", "[token, id]");
  return {};
}

Prefix ReadProcessor(const JsonObject& processor) {
  const std::string type = processor.Text("type");
  if (type == "TemplateProcessing") return ReadTemplate(processor);
  if (type == "BertProcessing" || type == "RobertaProcessing") return ReadClassifier(processor);
  if (type == "ByteLevel") return std::nullopt;
  if (type != "Sequence") {
    processor.Expected("type",
                       "TemplateProcessing, ByteLevel, BertProcessing, RobertaProcessing or "
                       "Sequence");
    return std::nullopt;
  }
  Prefix all;
  for (const JsonObject& step : processor.Objects("processors")) {
    // A later step works on what the earlier ones made: its tokens stand before theirs.
    const Prefix added = ReadProcessor(step);
    if (!added) continue;
    if (!all) all.emplace();
    all->insert(all->begin(), added->begin(), added->end());
  }
  return all;
}

}  // namespace

Prefix ReadPrefixIds(const JsonObject& tokenizer) {
  if (tokenizer.Get("post_processor") == nullptr) return std::nullopt;
  return ReadProcessor(tokenizer.Object("post_processor"));
}

}  // namespace trainctl::data
