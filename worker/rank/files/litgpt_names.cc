#include "worker/rank/files/litgpt_names.h"

#include <algorithm>
#include <utility>

namespace trainctl::files {
namespace {

constexpr std::string_view kBlock = "transformer.h.";

constexpr std::pair<std::string_view, std::string_view> kNames[] = {
    {"transformer.wte.weight", "model.embed_tokens.weight"},
    {"transformer.ln_f.weight", "model.norm.weight"},
    {"lm_head.weight", "lm_head.weight"},
};
constexpr std::pair<std::string_view, std::string_view> kBlockNames[] = {
    {"norm_1.weight", "input_layernorm.weight"},
    {"norm_2.weight", "post_attention_layernorm.weight"},
    {"attn.proj.weight", "self_attn.o_proj.weight"},
    {"mlp.fc_1.weight", "mlp.gate_proj.weight"},
    {"mlp.fc_2.weight", "mlp.up_proj.weight"},
    {"mlp.proj.weight", "mlp.down_proj.weight"},
};

std::vector<LitGptPart> SplitQkv(const std::string& block, const job::ModelShape& shape,
                                 bool by_group) {
  const int64_t queries = shape.heads / shape.kv_heads * shape.head_dim;  // rows of q of one group
  std::vector<LitGptPart> parts = {{block + "self_attn.q_proj.weight", {}},
                                   {block + "self_attn.k_proj.weight", {}},
                                   {block + "self_attn.v_proj.weight", {}}};
  const int64_t groups = by_group ? shape.kv_heads : 1, width = by_group ? 1 : shape.kv_heads;
  int64_t row = 0;
  for (int64_t group = 0; group < groups; ++group) {
    for (LitGptPart& part : parts) {
      const int64_t rows = width * (&part == &parts.front() ? queries : shape.head_dim);
      part.runs.push_back({row, rows});
      row += rows;
    }
  }
  return parts;
}

}  // namespace

std::optional<std::vector<LitGptPart>> FromLitGpt(std::string_view name,
                                                  const job::ModelShape& shape) {
  for (const auto& [from, to] : kNames) {
    if (name == from) return std::vector<LitGptPart>{{std::string(to), {}}};
  }
  if (!name.starts_with(kBlock)) return std::nullopt;
  const std::string_view rest = name.substr(kBlock.size());
  const size_t dot = rest.find('.');
  const std::string_view number = rest.substr(0, dot);
  const bool is_number =
      !number.empty() && number.find_first_not_of("0123456789") == std::string_view::npos;
  if (dot == std::string_view::npos || !is_number) return std::nullopt;
  const std::string block = "model.layers." + std::string(number) + ".";
  const std::string_view member = rest.substr(dot + 1);
  for (const auto& [from, to] : kBlockNames) {
    if (member == from) return std::vector<LitGptPart>{{block + std::string(to), {}}};
  }
  if (member == "attn.qkv.weight") return SplitQkv(block, shape, /*by_group=*/false);
  if (member == "attn.attn.weight") return SplitQkv(block, shape, /*by_group=*/true);
  return std::nullopt;
}

}  // namespace trainctl::files
