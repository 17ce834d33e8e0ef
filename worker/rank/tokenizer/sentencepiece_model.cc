#include "worker/rank/tokenizer/sentencepiece_model.h"

#include <array>
#include <bit>
#include <cmath>
#include <optional>
#include <unordered_set>
#include <utility>

#include "worker/rank/tokenizer/wire_reader.h"

namespace trainctl::data {
namespace {

// Field numbers of sentencepiece_model.proto.
namespace model_field {
constexpr uint32_t kPieces = 1, kTrainerSpec = 2, kNormalizerSpec = 3;
}
namespace piece_field {
constexpr uint32_t kPiece = 1, kScore = 2, kType = 3;
}
namespace trainer_field {
constexpr uint32_t kModelType = 3, kTreatWhitespaceAsSuffix = 24, kByteFallback = 35;
}
namespace normalizer_field {
constexpr uint32_t kPrecompiledCharsmap = 2, kAddDummyPrefix = 3, kRemoveExtraWhitespaces = 4,
                   kEscapeWhitespaces = 5;
}

constexpr uint64_t kUnigramType = 1, kBpeType = 2;
constexpr std::array kModelTypes = {"0", "UNIGRAM", "BPE", "WORD", "CHAR"};

// Each reader: nullopt, or what is wrong.
using FaultText = std::optional<std::string>;

FaultText ReadPiece(std::string_view message, SentencePiece* piece) {
  WireReader reader(message);
  uint64_t type = static_cast<uint64_t>(PieceType::kNormal);
  while (const auto field = reader.Next()) {
    if (field->number == piece_field::kPiece) piece->text = field->bytes;
    if (field->number == piece_field::kScore)
      piece->score = std::bit_cast<float>(static_cast<uint32_t>(field->value));
    if (field->number == piece_field::kType) type = field->value;
  }
  if (reader.broken() || piece->text.empty()) return "is broken";
  if (type < static_cast<uint64_t>(PieceType::kNormal) ||
      type > static_cast<uint64_t>(PieceType::kByte))
    return "has an unknown type";
  piece->type = static_cast<PieceType>(type);
  if (piece->type == PieceType::kUnused) return "is of type UNUSED: not yet supported";
  if (std::isnan(piece->score)) return "has no score";
  return std::nullopt;
}

FaultText ReadTrainerSpec(std::string_view message, SentencePieceModel* model) {
  WireReader reader(message);
  uint64_t type = kUnigramType;
  while (const auto field = reader.Next()) {
    if (field->number == trainer_field::kModelType) type = field->value;
    if (field->number == trainer_field::kTreatWhitespaceAsSuffix)
      model->whitespace_is_suffix = field->value != 0;
    if (field->number == trainer_field::kByteFallback) model->byte_fallback = field->value != 0;
  }
  if (reader.broken()) return "trainer_spec is broken";
  if (type == kBpeType) return std::nullopt;
  return std::string("trainer_spec.model_type ") +
         (type < kModelTypes.size() ? kModelTypes[type] : "unknown") +
         ": not yet supported, expected BPE";
}

FaultText ReadNormalizerSpec(std::string_view message, SentencePieceModel* model) {
  WireReader reader(message);
  while (const auto field = reader.Next()) {
    if (field->number == normalizer_field::kPrecompiledCharsmap)
      model->precompiled_charsmap = field->bytes;
    if (field->number == normalizer_field::kAddDummyPrefix)
      model->add_dummy_prefix = field->value != 0;
    if (field->number == normalizer_field::kRemoveExtraWhitespaces)
      model->remove_extra_whitespaces = field->value != 0;
    if (field->number == normalizer_field::kEscapeWhitespaces)
      model->escape_whitespaces = field->value != 0;
  }
  return reader.broken() ? FaultText("normalizer_spec is broken") : std::nullopt;
}

FaultText ReadField(const WireField& field, SentencePieceModel* model) {
  if (field.number == model_field::kTrainerSpec) return ReadTrainerSpec(field.bytes, model);
  if (field.number == model_field::kNormalizerSpec) return ReadNormalizerSpec(field.bytes, model);
  if (field.number != model_field::kPieces) return std::nullopt;
  SentencePiece& piece = model->pieces.emplace_back();
  const FaultText fault = ReadPiece(field.bytes, &piece);
  return fault ? "piece " + std::to_string(model->pieces.size() - 1) + " ('" + piece.text + "') " +
                     *fault
               : fault;
}

FaultText CheckPieces(const SentencePieceModel& model) {
  if (model.pieces.empty()) return "no pieces: this is not a SentencePiece model";
  std::unordered_set<std::string_view> texts;
  bool has_unknown = false;
  for (const SentencePiece& piece : model.pieces) {
    if (!texts.insert(piece.text).second) return "piece '" + piece.text + "' stands twice";
    has_unknown = has_unknown || piece.type == PieceType::kUnknown;
  }
  return has_unknown ? std::nullopt : FaultText("no piece of type UNKNOWN");
}

}  // namespace

base::Result<SentencePieceModel> ReadSentencePieceModel(std::string_view proto,
                                                        const std::string& source) {
  SentencePieceModel model;
  WireReader reader(proto);
  FaultText fault;
  bool has_trainer_spec = false;
  for (auto field = reader.Next(); field && !fault; field = reader.Next()) {
    has_trainer_spec = has_trainer_spec || field->number == model_field::kTrainerSpec;
    fault = ReadField(*field, &model);
  }
  if (!fault && reader.broken())
    fault = "this is not a SentencePiece model, or the file is cut short";
  if (!fault) fault = CheckPieces(model);
  if (!fault && !has_trainer_spec)
    fault = "no trainer_spec: its algorithm is unknown, expected BPE";
  if (fault) return base::Error{base::Code::kInvalid, source + ": " + *fault};
  return model;
}

}  // namespace trainctl::data
