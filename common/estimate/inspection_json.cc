#include <algorithm>

#include "common/estimate/memory_estimate.h"
#include "common/job/json_fields.h"
#include "common/json/write_json.h"

namespace trainctl::job {
namespace {

// Sizes that estimates can be made of in 64 bits: larger ones are no model's.
constexpr int64_t kMostLayers = 1 << 10;
constexpr int64_t kMostHeads = 1 << 10;
constexpr int64_t kLargestHidden = 1 << 16;
constexpr int64_t kLargestIntermediate = 1 << 18;
constexpr int64_t kLargestVocab = 1 << 22;
constexpr int64_t kMostTokens = int64_t{1} << 50;

constexpr auto kRopeFields = [](auto& fields, auto& rope) {
  fields.Named("type", rope.type, ParseRopeType);
  fields.Member("factor", rope.factor);
  fields.Within("original_positions", rope.original_positions, 0, kMostTokens);
  fields.Member("low_freq_factor", rope.low_freq_factor);
  fields.Member("high_freq_factor", rope.high_freq_factor);
  fields.Member("beta_fast", rope.beta_fast);
  fields.Member("beta_slow", rope.beta_slow);
  fields.Member("attention_factor", rope.attention_factor);
  fields.Member("truncates_correction", rope.truncates_correction);
};

constexpr auto kImageFields = [](auto& fields, auto& image) {
  fields.Within("side", image.side, 1, kLargestHidden);
  fields.Within("patch", image.patch, 1, kLargestHidden);
  fields.Within("token", image.token, 0, kLargestVocab);
  fields.Within("vision_layers", image.vision_layers, 0, kMostLayers);
  fields.Within("vision_hidden", image.vision_hidden, 0, kLargestHidden);
  fields.Within("vision_intermediate", image.vision_intermediate, 0, kLargestIntermediate);
  fields.Within("vision_heads", image.vision_heads, 0, kMostHeads);
  fields.Member("vision_qkv_bias", image.vision_qkv_bias);
  fields.Member("vision_norm_eps", image.vision_norm_eps);
  fields.Within("queries", image.queries, 0, kLargestHidden);
  fields.Within("qformer_layers", image.qformer_layers, 0, kMostLayers);
  fields.Within("qformer_hidden", image.qformer_hidden, 0, kLargestHidden);
  fields.Within("qformer_intermediate", image.qformer_intermediate, 0, kLargestIntermediate);
  fields.Within("qformer_heads", image.qformer_heads, 0, kMostHeads);
  fields.Within("cross_every", image.cross_every, 1, kMostLayers);
  fields.Member("qformer_norm_eps", image.qformer_norm_eps);
  fields.Member("qformer_dropout", image.qformer_dropout);
  fields.Member("qformer_attention_dropout", image.qformer_attention_dropout);
};

constexpr auto kModelFields = [](auto& fields, auto& model) {
  fields.Member("family", model.family);
  fields.Within("layers", model.layers, 0, kMostLayers);
  fields.Within("hidden", model.hidden, 0, kLargestHidden);
  fields.Within("intermediate", model.intermediate, 0, kLargestIntermediate);
  fields.Within("heads", model.heads, 0, kMostHeads);
  fields.Within("kv_heads", model.kv_heads, 0, kMostHeads);
  fields.Within("head_dim", model.head_dim, 0, kMostHeads);
  fields.Within("vocab", model.vocab, 0, kLargestVocab);
  fields.Within("max_positions", model.max_positions, 0, kMostTokens);
  fields.Member("tied_head", model.tied_head);
  fields.Member("rope_theta", model.rope_theta);
  fields.Member("norm_eps", model.norm_eps);
  fields.Member("bos_token", model.bos_token);
  fields.Member("eos_token", model.eos_token);
  fields.ObjectIfAny("rope_scaling", model.rope_scaling, kRopeFields);
  fields.MemberIfAny("qkv_bias", model.qkv_bias);
  fields.MemberIfAny("out_bias", model.out_bias);
  fields.MemberIfAny("mlp_bias", model.mlp_bias);
  fields.MemberIfAny("head_norms", model.head_norms);
  fields.MemberIfAny("sliding_window", model.sliding_window);
  fields.MemberIfAny("full_layers", model.full_layers);
  fields.MemberIfAny("dropout", model.dropout);
  fields.ObjectIfAny("image", model.image, kImageFields);
  fields.Expect("sliding_window", model.sliding_window >= 0, "expected positions, from 0");
  fields.Expect("full_layers", std::ranges::is_sorted(model.full_layers),
                "expected layers in ascending order");
  fields.Expect("dropout", model.dropout >= 0 && model.dropout < 1, "expected a share below 1");
};

constexpr auto kOverlapFields = [](auto& fields, auto& overlap) {
  fields.Member("path", overlap.path);
  fields.Object("owner", overlap.owner, kOwnerFields);
  fields.Member("contents", overlap.contents);
};

constexpr auto kOutputFields = [](auto& fields, auto& output) {
  fields.ObjectIfAny("owner", output.owner, kOwnerFields);
  fields.Member("claims", output.claims);
  fields.Member("contents", output.contents);
  fields.MemberIfAny("free_bytes", output.free_bytes);
  fields.ObjectsIfAny("overlaps", output.overlaps, kOverlapFields);
};

constexpr auto kPieceFields = [](auto& fields, auto& piece) {
  fields.Member("text", piece.text);
  fields.Member("trained", piece.trained);
};

constexpr auto kRowFields = [](auto& fields, auto& row) {
  fields.Within("tokens", row.tokens, 0, kMostTokens);
  fields.Within("trained", row.trained, 0, kMostTokens);
  fields.Objects("pieces", row.pieces, kPieceFields);
  fields.MemberIfAny("note", row.note);
};

constexpr auto kInspectionFields = [](auto& fields, auto& inspection) {
  fields.Object("model", inspection.model, kModelFields);
  fields.Within("rows", inspection.rows, 0, kMostTokens);
  fields.Within("longest_row", inspection.longest_row, 0, kMostTokens);
  fields.Within("total_tokens", inspection.total_tokens, 0, kMostTokens);
  fields.MemberIfAny("full_rows", inspection.full_rows);
  fields.MemberIfAny("untrained_rows", inspection.untrained_rows);
  fields.MemberIfAny("validation_rows", inspection.validation_rows);
  fields.MemberIfAny("longest_validation_row", inspection.longest_validation_row);
  fields.MemberIfAny("sampled_rows", inspection.sampled_rows);
  fields.MemberIfAny("packed_sequences", inspection.packed_sequences);
  fields.MemberIfAny("longest_sequence", inspection.longest_sequence);
  fields.MemberIfAny("decoded_pictures", inspection.decoded_pictures);
  fields.MemberIfAny("broken_pictures", inspection.broken_pictures);
  fields.MemberIfAny("tokenizer_digest", inspection.tokenizer_digest);
  fields.Member("data_digest", inspection.data_digest);
  fields.ObjectIfAny("output", inspection.output, kOutputFields);
  fields.MemberIfAny("resume_step", inspection.resume_step);
  fields.ObjectIfAny("first_row", inspection.first_row, kRowFields);
  fields.MemberIfAny("model_revision", inspection.model_revision);
  fields.MemberIfAny("waited_for", inspection.waited_for);
  fields.MemberIfAny("missing_weights", inspection.missing_weights);
  fields.Expect("packed_sequences",
                inspection.packed_sequences >= 0 && inspection.packed_sequences <= inspection.rows,
                "expected as many as rows at most");
  for (const auto& [key, rows] : {std::pair("full_rows", inspection.full_rows),
                                  std::pair("untrained_rows", inspection.untrained_rows)})
    fields.Expect(key, rows >= 0 && rows <= inspection.rows, "expected as many as rows at most");
  fields.Expect("validation_rows",
                inspection.validation_rows >= 0 && inspection.validation_rows <= kMostTokens,
                "expected rows");
  fields.Expect(
      "longest_validation_row",
      inspection.longest_validation_row >= 0 && inspection.longest_validation_row <= kMostTokens,
      "expected tokens");
  fields.Expect("sampled_rows",
                inspection.sampled_rows >= 0 && inspection.sampled_rows <= inspection.rows,
                "expected as many as rows at most");
  fields.Expect("decoded_pictures",
                inspection.decoded_pictures >= 0 && inspection.decoded_pictures <= kMostTokens,
                "expected pictures");
  fields.Expect(
      "broken_pictures",
      inspection.broken_pictures >= 0 && inspection.broken_pictures <= inspection.decoded_pictures,
      "expected as many as decoded_pictures at most");
  fields.Expect("longest_sequence",
                inspection.longest_sequence >= 0 && inspection.longest_sequence <= kMostTokens,
                "expected tokens");
  fields.Expect("resume_step", inspection.resume_step >= 0, "expected a step, from 0");
};

}  // namespace

std::string ToJson(const Inspection& inspection) {
  return WriteJson(WriteFields(inspection, kInspectionFields));
}

base::Result<Inspection> InspectionFromJson(std::string_view text) {
  return ReadFields<Inspection>(text, "inspection", kInspectionFields);
}

}  // namespace trainctl::job
