#include "worker/train/weights_io.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <filesystem>
#include <set>

#include "worker/files/hf_directory.h"
#include "worker/files/safetensors_writer.h"
#include "worker/files/weights.h"

namespace trainctl::train {
namespace {

constexpr double kInitialDeviation = 0.02;

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

// The shape of one piece in a checkpoint.
std::vector<int64_t> PieceShape(const ops::ParamSpec& spec, const ops::ParamPiece& piece) {
  if (spec.shape.size() == 1) return {piece.rows};
  return {piece.rows, spec.shape[1]};
}

// A view of a mapped file as a tensor; never written to.
at::Tensor Mapped(std::span<const std::byte> bytes, const std::vector<int64_t>& shape, at::ScalarType type) {
  return at::from_blob(const_cast<std::byte*>(bytes.data()), shape, at::TensorOptions().dtype(type));
}

base::Status CheckNames(const files::WeightFiles& weights, const ops::ParameterTable& table, bool tied_head) {
  std::set<std::string> known;
  std::string missing, superfluous;
  for (const ops::ParamSpec& spec : table.params) {
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

base::Status WriteTensor(files::SafetensorsWriter& writer, const at::Tensor& rows) {
  const at::Tensor host = rows.contiguous().cpu();
  return writer.Append({static_cast<const std::byte*>(host.const_data_ptr()), host.nbytes()});
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
  strategy.FinishLoading();
  return base::Ok{};
}

void InitializeRandom(int64_t seed, const ops::ParameterTable& table, at::Device device, strategy::Strategy& strategy,
                      const LoadProgress& progress) {
  int64_t tensor = 0;
  for (size_t param = 0; param < table.params.size(); ++param) {
    const ops::ParamSpec& spec = table.params[param];
    for (const ops::ParamPiece& piece : spec.pieces) {
      const at::Tensor values = at::empty(PieceShape(spec, piece), at::TensorOptions().device(device).dtype(at::kFloat));
      if (spec.init == ops::Init::kOnes) {
        values.fill_(1);
      } else {
        at::manual_seed(static_cast<uint64_t>(seed) * 1'000'003 + static_cast<uint64_t>(tensor));
        values.normal_(0, kInitialDeviation);
      }
      strategy.SetRows(static_cast<ops::ParamId>(param), piece.row, values);
      ++tensor;
    }
    progress(static_cast<int64_t>(param + 1), static_cast<int64_t>(table.params.size()));
  }
  strategy.FinishLoading();
}

base::Status SaveFinal(const std::string& model_directory, const std::string& output_directory, const ops::ParameterTable& table,
                       bool writes, strategy::Strategy& strategy) {
  std::vector<files::TensorInfo> infos;
  for (size_t param = 0; param < table.params.size(); ++param) {
    const at::ScalarType type = strategy.GetRows(static_cast<ops::ParamId>(param)).scalar_type();
    for (const ops::ParamPiece& piece : table.params[param].pieces) {
      infos.push_back({.name = piece.name,
                       .dtype = type == at::kBFloat16 ? files::DType::kBF16 : files::DType::kF32,
                       .shape = PieceShape(table.params[param], piece)});
    }
  }
  if (!writes) return base::Ok{};
  std::error_code error;
  std::filesystem::create_directories(output_directory, error);
  if (error) return base::Error{base::Code::kIo, "cannot make output.dir " + output_directory + ": " + error.message()};
  const auto copied = files::CopyCompanionFiles(model_directory, output_directory);
  if (!copied) return copied.error();
  base::Result<files::SafetensorsWriter> writer =
      files::SafetensorsWriter::Create(output_directory + "/model.safetensors", std::move(infos));
  if (!writer) return writer.error();
  for (size_t param = 0; param < table.params.size(); ++param) {
    const at::Tensor rows = strategy.GetRows(static_cast<ops::ParamId>(param));
    for (const ops::ParamPiece& piece : table.params[param].pieces) {
      if (base::Status status = WriteTensor(*writer, rows.narrow(0, piece.row, piece.rows)); !status.ok()) return status;
    }
  }
  return writer->Finish();
}

}  // namespace trainctl::train
