#include "worker/rank/state/load_weights.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "worker/rank/files/check_weights.h"
#include "worker/rank/files/weights.h"
#include "worker/rank/state/read_ahead.h"
#include "worker/rank/state/tensor_piece.h"

namespace trainctl::train {
namespace {

// Of a tensor that was checked.
at::ScalarType ElementType(const files::TensorInfo& info) {
  switch (info.dtype) {
    case files::DType::kF16: return at::kHalf;
    case files::DType::kBF16: return at::kBFloat16;
    default: return at::kFloat;
  }
}

// Whole rows of a parameter, as they lie in a file: at most what read_ahead.h takes at once.
struct RowsPart {
  ops::ParamId param = 0;
  int64_t row = 0;
  std::vector<int64_t> shape;
  at::ScalarType type = at::kFloat;
  std::span<const std::byte> bytes;
  const std::string* last_of = nullptr;  // the tensor of which this is the last part
};

// The runs of one piece, cut.
void AddParts(const files::WeightFiles& weights, ops::ParamId param, const ops::ParamSpec& spec,
              const ops::ParamPiece& piece, at::ScalarType type, std::vector<RowsPart>* parts) {
  const int64_t row_bytes = spec.columns() * static_cast<int64_t>(c10::elementSize(type));
  const int64_t most_rows = std::max<int64_t>(1, kReadAheadBytes / row_bytes);
  int64_t row = piece.row;
  for (const std::span<const std::byte> run : weights.Runs(piece.name)) {
    const auto rows = static_cast<int64_t>(run.size()) / row_bytes;
    for (int64_t first = 0; first < rows; first += most_rows) {
      const int64_t count = std::min(most_rows, rows - first);
      const auto bytes = run.subspan(static_cast<size_t>(first * row_bytes),
                                     static_cast<size_t>(count * row_bytes));
      std::vector<int64_t> shape = spec.shape;
      shape[0] = count;
      parts->push_back({param, row, std::move(shape), type, bytes, nullptr});
      row += count;
    }
  }
  parts->back().last_of = &piece.name;
}

std::vector<job::FileTensor> OwnTensors(const ops::ParameterTable& table) {
  std::vector<job::FileTensor> tensors;
  for (const ops::ParamSpec& spec : table.params) {
    if (spec.adapter) continue;
    for (const ops::ParamPiece& piece : spec.pieces)
      tensors.push_back({piece.name, FileShape(spec, piece)});
  }
  return tensors;
}

}  // namespace

base::Status LoadPretrained(const std::string& directory, const ops::ParameterTable& table,
                            bool tied_head, strategy::Strategy& strategy,
                            const ByteProgress& progress, at::Device device) {
  const base::Result<files::WeightFiles> weights = files::WeightFiles::Open(directory);
  if (!weights) return weights.error();
  if (auto checked = files::CheckWeights(*weights, OwnTensors(table), tied_head); !checked)
    return checked;
  std::vector<RowsPart> parts;
  for (size_t param = 0; param < table.params.size(); ++param) {
    const ops::ParamSpec& spec = table.params[param];
    if (spec.adapter) continue;
    for (const ops::ParamPiece& piece : spec.pieces) {
      AddParts(*weights, static_cast<ops::ParamId>(param), spec, piece,
               ElementType(*weights->Find(piece.name)), &parts);
    }
  }
  std::vector<std::span<const std::byte>> bytes;
  for (const RowsPart& part : parts) bytes.push_back(part.bytes);
  int64_t done = 0;
  ReadAhead(bytes, device, [&](size_t index, const at::Tensor& values) {
    const RowsPart& part = parts[index];
    strategy.SetRows(part.param, part.row, values.view(part.type).view(part.shape));
    if (part.last_of != nullptr) weights->Release(*part.last_of);
    done += static_cast<int64_t>(part.bytes.size());
    progress(done, weights->total_bytes());
  });
  return base::Ok{};
}

}  // namespace trainctl::train
