#include "worker/rank/state/load_weights.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "worker/rank/files/weights.h"
#include "worker/rank/state/read_ahead.h"
#include "worker/rank/state/tensor_piece.h"

namespace trainctl::train {
namespace {

base::Result<at::ScalarType> ElementType(const files::TensorInfo& info) {
  switch (info.dtype) {
    case files::DType::kF32: return at::kFloat;
    case files::DType::kF16: return at::kHalf;
    case files::DType::kBF16: return at::kBFloat16;
    default:
      return base::Error{base::Code::kInvalid, "weight " + info.name + " is of type " +
                                                   std::string(files::Name(info.dtype)) +
                                                   ": expected F32, F16 or BF16"};
  }
}

std::string ShapeText(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (const int64_t size : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(size);
  return text + "]";
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

// Tensors as an error names them: how many, and the first few.
class NamedTensors {
 public:
  explicit NamedTensors(std::string what) : what_(std::move(what)) {}

  void Add(const std::string& name) {
    if (++count_ <= kMostNamed) names_ += " " + name;
  }
  bool empty() const { return count_ == 0; }
  // "; 45 missing: model.norm.weight …", or "".
  std::string Text() const {
    if (empty()) return "";
    return "; " + std::to_string(count_) + " " + what_ + ":" + names_ +
           (count_ > kMostNamed ? " …" : "");
  }

 private:
  static constexpr int64_t kMostNamed = 4;

  const std::string what_;
  int64_t count_ = 0;
  std::string names_;
};

base::Status CheckNames(const files::WeightFiles& weights, const ops::ParameterTable& table,
                        bool tied_head) {
  std::set<std::string> known;
  NamedTensors missing("missing"), superfluous("superfluous");
  for (const ops::ParamSpec& spec : table.params) {
    if (spec.adapter) continue;
    for (const ops::ParamPiece& piece : spec.pieces) {
      known.insert(piece.name);
      const files::TensorInfo* info = weights.Find(piece.name);
      if (info == nullptr) {
        missing.Add(piece.name);
      } else if (info->shape != FileShape(spec, piece)) {
        return base::Error{base::Code::kInvalid,
                           "weight " + piece.name + " has shape " + ShapeText(info->shape) +
                               ": config.json makes it " + ShapeText(FileShape(spec, piece))};
      }
    }
  }
  for (const std::string& name : weights.names()) {
    const bool tolerated =
        name.ends_with("rotary_emb.inv_freq") || (tied_head && name.ends_with("lm_head.weight"));
    if (!tolerated && !known.contains(name)) superfluous.Add(name);
  }
  if (missing.empty() && superfluous.empty()) return base::Ok{};
  return base::Error{base::Code::kInvalid,
                     "the weights do not fit the model that config.json describes" +
                         missing.Text() + superfluous.Text()};
}

}  // namespace

base::Status LoadPretrained(const std::string& directory, const ops::ParameterTable& table,
                            bool tied_head, strategy::Strategy& strategy,
                            const ByteProgress& progress, at::Device device) {
  const base::Result<files::WeightFiles> weights = files::WeightFiles::Open(directory);
  if (!weights) return weights.error();
  if (base::Status names = CheckNames(*weights, table, tied_head); !names.ok()) return names;
  std::vector<RowsPart> parts;
  for (size_t param = 0; param < table.params.size(); ++param) {
    const ops::ParamSpec& spec = table.params[param];
    if (spec.adapter) continue;
    for (const ops::ParamPiece& piece : spec.pieces) {
      const base::Result<at::ScalarType> type = ElementType(*weights->Find(piece.name));
      if (!type) return type.error();
      AddParts(*weights, static_cast<ops::ParamId>(param), spec, piece, *type, &parts);
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
