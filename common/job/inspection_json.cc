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

void ReadModel(JsonFields& fields, ModelShape& model) {
  fields.Read("family", model.family);
  fields.Read("layers", model.layers);
  fields.Read("hidden", model.hidden);
  fields.Read("intermediate", model.intermediate);
  fields.Read("heads", model.heads);
  fields.Read("kv_heads", model.kv_heads);
  fields.Read("head_dim", model.head_dim);
  fields.Read("vocab", model.vocab);
  fields.Read("max_positions", model.max_positions);
  fields.Read("tied_head", model.tied_head);
  fields.Read("rope_theta", model.rope_theta);
  fields.Read("norm_eps", model.norm_eps);
  fields.Read("bos_token", model.bos_token);
  fields.Read("eos_token", model.eos_token);
}

void ReadInspection(JsonFields& fields, Inspection& inspection) {
  fields.ReadObject("model", inspection.model, ReadModel);
  fields.Read("rows", inspection.rows);
  fields.Read("longest_row", inspection.longest_row);
  fields.Read("total_tokens", inspection.total_tokens);
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
