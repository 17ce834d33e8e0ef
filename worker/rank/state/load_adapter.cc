#include "worker/rank/state/load_adapter.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "worker/rank/files/adapter_config.h"
#include "worker/rank/files/safetensors.h"
#include "worker/rank/state/element_types.h"
#include "worker/rank/state/tensor_piece.h"

namespace trainctl::train {
namespace {

base::Error WrongAdapter(const files::SafetensorsFile& file, const std::string& message) {
  return {base::Code::kInvalid, file.path() + ": " + message};
}

// A copy: the file's bytes may lie unaligned.
at::Tensor ValuesOf(const files::SafetensorsFile& file, const files::TensorInfo& info,
                    at::ScalarType type) {
  const at::Tensor values = at::empty(info.shape, type);
  const std::span<const std::byte> bytes = file.Bytes(info);
  if (!bytes.empty()) std::memcpy(values.mutable_data_ptr(), bytes.data(), bytes.size());
  return values;
}

base::Result<at::Tensor> ReadPiece(const files::SafetensorsFile& file, const std::string& name,
                                   const ops::ParamSpec& spec, const ops::ParamPiece& piece) {
  const files::TensorInfo* info = file.Find(name);
  if (info == nullptr) return WrongAdapter(file, "no " + name + ", which the job's lora asks for");
  const std::optional<at::ScalarType> type = ScalarTypeOf(info->dtype);
  if (!type || !c10::isFloatingType(*type)) {
    return WrongAdapter(file, name + " is of type " + std::string(files::Name(info->dtype)) +
                                  ": expected F32, F16 or BF16");
  }
  if (info->shape != PieceShape(spec, piece)) {
    return WrongAdapter(
        file, name + " has another shape than the model and lora.r make it: expected " +
                  std::to_string(piece.rows) + " rows of " + std::to_string(spec.columns()));
  }
  return ValuesOf(file, *info, *type);
}

// Where peft writes the adapted module's own weights: of the head and of the embedding, beside what
// it adds to them.
std::string OwnName(const std::string& piece) {
  constexpr std::string_view kWeight = ".weight";
  if (!piece.ends_with(kWeight)) return "";
  return files::kAdapterPrefix + piece.substr(0, piece.size() - kWeight.size()) +
         ".base_layer.weight";
}

// A tied head has no weights of its own: those are the embedding's.
bool IsTiedHead(const ops::ParameterTable& table, const std::string& name) {
  constexpr const char* kHead = "lm_head.weight";
  return name.ends_with(".lm_head.base_layer.weight") &&
         std::ranges::none_of(table.params, [](const ops::ParamSpec& spec) {
           return std::ranges::any_of(spec.pieces, [](const ops::ParamPiece& piece) {
             return piece.name.ends_with(kHead);
           });
         });
}

}  // namespace

base::Status LoadAdapter(const std::string& folder, const ops::ParameterTable& table,
                         strategy::Strategy& strategy) {
  const auto file = files::SafetensorsFile::Open(folder + "/" + files::kAdapterWeightsFile);
  if (!file) return file.error();
  std::set<std::string> known;
  for (size_t param = 0; param < table.params.size(); ++param) {
    const ops::ParamSpec& spec = table.params[param];
    for (const ops::ParamPiece& piece : spec.pieces) {
      const std::string name =
          spec.adapter ? files::kAdapterPrefix + piece.name : OwnName(piece.name);
      if (!spec.adapter && file->Find(name) == nullptr) continue;
      const base::Result<at::Tensor> values = ReadPiece(*file, name, spec, piece);
      if (!values) return values.error();
      strategy.SetRows(static_cast<ops::ParamId>(param), piece.row, *values);
      known.insert(name);
    }
  }
  for (const files::TensorInfo& info : file->tensors()) {
    if (!known.contains(info.name) && !IsTiedHead(table, info.name))
      return WrongAdapter(*file, info.name + " is of no matrix that the job's lora adapts");
  }
  return base::Ok{};
}

}  // namespace trainctl::train
