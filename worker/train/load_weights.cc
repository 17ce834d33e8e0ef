#include "worker/train/load_weights.h"

#include <ATen/ops/from_blob.h>

#include <set>

#include "worker/files/weights.h"
#include "worker/train/tensor_piece.h"

namespace trainctl::train {
namespace {

base::Result<at::ScalarType> ElementType(const files::TensorInfo& info) {
  switch (info.dtype) {
    case files::DType::kF32: return at::kFloat;
    case files::DType::kF16: return at::kHalf;
    case files::DType::kBF16: return at::kBFloat16;
    default:
      return base::Error{base::Code::kInvalid, "weight " + info.name + " is of type " + std::string(files::Name(info.dtype)) +
                                                   ": expected F32, F16 or BF16"};
  }
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
}

// A view of a mapped file as a tensor; never written to.
at::Tensor Mapped(std::span<const std::byte> bytes, const std::vector<int64_t>& shape, at::ScalarType type) {
  return at::from_blob(const_cast<std::byte*>(bytes.data()), shape, at::TensorOptions().dtype(type));
}

base::Status CheckNames(const files::WeightFiles& weights, const ops::ParameterTable& table, bool tied_head) {
  std::set<std::string> known;
  std::string missing, superfluous;
  for (const ops::ParamSpec& spec : table.params) {
    if (spec.adapter) continue;
    for (const ops::ParamPiece& piece : spec.pieces) {
      known.insert(piece.name);
      const files::TensorInfo* info = weights.Find(piece.name);
      if (info == nullptr) {
        missing += " " + piece.name;
      } else if (info->shape != PieceShape(spec, piece)) {
        return base::Error{base::Code::kInvalid, "weight " + piece.name + " has shape " + ShapeText(info->shape) +
                                                     ": config.json makes it " + ShapeText(PieceShape(spec, piece))};
      }
    }
  }
  for (const std::string& name : weights.names()) {
    const bool tolerated = name.ends_with("rotary_emb.inv_freq") || (tied_head && name == "lm_head.weight");
    if (!tolerated && !known.contains(name)) superfluous += " " + name;
  }
  if (missing.empty() && superfluous.empty()) return base::Ok{};
  std::string message = "the weights do not fit the model that config.json describes;";
  if (!missing.empty()) message += " missing:" + missing + ";";
  if (!superfluous.empty()) message += " superfluous:" + superfluous + ";";
  message.pop_back();
  return base::Error{base::Code::kInvalid, message};
}

}  // namespace

base::Status LoadPretrained(const std::string& directory, const ops::ParameterTable& table, bool tied_head, strategy::Strategy& strategy,
                            const LoadProgress& progress) {
  const base::Result<files::WeightFiles> weights = files::WeightFiles::Open(directory);
  if (!weights) return weights.error();
  if (base::Status names = CheckNames(*weights, table, tied_head); !names.ok()) return names;
  int64_t done = 0;
  for (size_t param = 0; param < table.params.size(); ++param) {
    const ops::ParamSpec& spec = table.params[param];
    if (spec.adapter) continue;
    for (const ops::ParamPiece& piece : spec.pieces) {
      const files::TensorInfo& info = *weights->Find(piece.name);
      const base::Result<at::ScalarType> type = ElementType(info);
      if (!type) return type.error();
      strategy.SetRows(static_cast<ops::ParamId>(param), piece.row, Mapped(weights->Bytes(piece.name), PieceShape(spec, piece), *type));
      weights->Release(piece.name);
      done += info.size_bytes();
    }
    progress(done, weights->total_bytes());
  }
  return base::Ok{};
}

}  // namespace trainctl::train
