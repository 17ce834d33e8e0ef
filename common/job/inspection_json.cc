#include "common/job/json_fields.h"
#include "common/job/memory_estimate.h"
#include "common/job/write_json.h"

namespace trainctl::job {
namespace {

JsonNode ToNode(const ModelShape& model) {
  JsonNode node = JsonNode::Object();
  node.Add("family", model.family).Add("layers", model.layers).Add("hidden", model.hidden).Add("intermediate", model.intermediate);
  node.Add("heads", model.heads).Add("kv_heads", model.kv_heads).Add("head_dim", model.head_dim).Add("vocab", model.vocab);
  node.Add("max_positions", model.max_positions).Add("tied_head", model.tied_head).Add("rope_theta", model.rope_theta);
  node.Add("norm_eps", model.norm_eps).Add("bos_token", model.bos_token).Add("eos_token", model.eos_token);
  return node;
}

// Sizes that estimates can be made of in 64 bits: larger ones are no model's.
constexpr int64_t kMostLayers = 1 << 10;
constexpr int64_t kMostHeads = 1 << 10;
constexpr int64_t kLargestHidden = 1 << 16;
constexpr int64_t kLargestIntermediate = 1 << 18;
constexpr int64_t kLargestVocab = 1 << 22;
constexpr int64_t kMostTokens = int64_t{1} << 50;

void ReadBounded(JsonFields& fields, std::string_view key, int64_t& value, int64_t most) {
  fields.Read(key, value);
  if (value >= 0 && value <= most) return;
  fields.Fail(key, std::to_string(value) + ": expected 0 to " + std::to_string(most));
  value = 0;
}

void ReadModel(JsonFields& fields, ModelShape& model) {
  fields.Read("family", model.family);
  ReadBounded(fields, "layers", model.layers, kMostLayers);
  ReadBounded(fields, "hidden", model.hidden, kLargestHidden);
  ReadBounded(fields, "intermediate", model.intermediate, kLargestIntermediate);
  ReadBounded(fields, "heads", model.heads, kMostHeads);
  ReadBounded(fields, "kv_heads", model.kv_heads, kMostHeads);
  ReadBounded(fields, "head_dim", model.head_dim, kMostHeads);
  ReadBounded(fields, "vocab", model.vocab, kLargestVocab);
  ReadBounded(fields, "max_positions", model.max_positions, kMostTokens);
  fields.Read("tied_head", model.tied_head);
  fields.Read("rope_theta", model.rope_theta);
  fields.Read("norm_eps", model.norm_eps);
  fields.Read("bos_token", model.bos_token);
  fields.Read("eos_token", model.eos_token);
}

void ReadInspection(JsonFields& fields, Inspection& inspection) {
  fields.ReadObject("model", inspection.model, ReadModel);
  ReadBounded(fields, "rows", inspection.rows, kMostTokens);
  ReadBounded(fields, "longest_row", inspection.longest_row, kMostTokens);
  ReadBounded(fields, "total_tokens", inspection.total_tokens, kMostTokens);
  fields.Read("data_digest", inspection.data_digest);
}

}  // namespace

std::string ToJson(const Inspection& inspection) {
  JsonNode node = JsonNode::Object();
  node.Add("model", ToNode(inspection.model)).Add("rows", inspection.rows).Add("longest_row", inspection.longest_row);
  node.Add("total_tokens", inspection.total_tokens).Add("data_digest", inspection.data_digest);
  return WriteJson(node);
}

base::Result<Inspection> InspectionFromJson(std::string_view text) { return ReadFields<Inspection>(text, "inspection", ReadInspection); }

}  // namespace trainctl::job
