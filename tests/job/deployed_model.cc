#include "tests/job/deployed_model.h"

#include <nlohmann/json.hpp>

#include "common/base/file.h"
#include "tests/checkout.h"

namespace trainctl::job {

ModelShape DeployedModel(const std::string& name) {
  const auto text =
      base::ReadFile(checkout::File("deploy/models/") + name + "/config.json", 1 << 20);
  const nlohmann::json config = nlohmann::json::parse(*text);
  ModelShape model;
  model.layers = config["num_hidden_layers"];
  model.hidden = config["hidden_size"];
  model.intermediate = config["intermediate_size"];
  model.heads = config["num_attention_heads"];
  model.kv_heads = config["num_key_value_heads"];
  model.head_dim = model.hidden / model.heads;
  model.vocab = config["vocab_size"];
  model.tied_head = config["tie_word_embeddings"];
  return model;
}

}  // namespace trainctl::job
