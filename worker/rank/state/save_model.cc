#include "worker/rank/state/save_model.h"

#include "worker/rank/files/hf_directory.h"
#include "worker/rank/state/adapter_merger.h"
#include "worker/rank/state/model_files.h"
#include "worker/rank/state/tensor_files.h"
#include "worker/rank/state/tensor_piece.h"

namespace trainctl::train {
namespace {

at::ScalarType SavedType(const job::JobSpec& job) {
  const bool has_masters = job.precision == job::Precision::kBf16Mixed && !job.lora;
  return job.precision == job::Precision::k32True || has_masters ? at::kFloat : at::kBFloat16;
}

void CreateModelFile(const job::JobSpec& job, ModelFiles& file) {
  const std::string& directory = *job.output.dir;
  if (base::Status made = MakeFolder(directory); !made.ok()) return file.Fail(made.error());
  const auto copied = files::CopyCompanionFiles(job.model.path, directory);
  if (!copied) return file.Fail(copied.error());
  file.Create(directory);
}

}  // namespace

base::Status SaveModel(const job::JobSpec& job, const ops::ParameterTable& table, bool writes,
                       strategy::Strategy& strategy, const ByteProgress& progress) {
  ModelFiles file(SavedType(job));
  for (const ops::ParamSpec& spec : table.params) {
    if (spec.adapter) continue;
    for (const ops::ParamPiece& piece : spec.pieces)
      file.Declare(piece.name, PieceShape(spec, piece));
  }
  if (writes) CreateModelFile(job, file);
  const AdapterMerger merger(job, table, strategy);
  const auto value_bytes = static_cast<int64_t>(c10::elementSize(SavedType(job)));
  const int64_t total = Numel(table, /*adapters=*/false) * value_bytes;
  int64_t done = 0;
  for (size_t param = 0; param < table.params.size(); ++param) {
    if (table.params[param].adapter) continue;
    progress(done, total);
    for (const at::Tensor& piece : merger.Pieces(static_cast<ops::ParamId>(param)))
      file.Append(piece);
    done += table.params[param].numel() * value_bytes;
  }
  if (base::Status finished = file.Finish(); !finished) return finished;
  progress(total, total);
  return base::Ok{};
}

}  // namespace trainctl::train
