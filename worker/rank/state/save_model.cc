#include "worker/rank/state/save_model.h"

#include "worker/rank/files/hf_directory.h"
#include "worker/rank/state/adapter_merger.h"
#include "worker/rank/state/model_files.h"
#include "worker/rank/state/tensor_files.h"
#include "worker/rank/state/tensor_piece.h"
#include "worker/rank/state/write_params.h"

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
      file.Declare(piece.name, FileShape(spec, piece));
  }
  if (writes) CreateModelFile(job, file);
  const AdapterMerger merger(job, table, strategy);
  const auto pieces = [&](ops::ParamId param) { return merger.Pieces(param); };
  return WriteParams({.table = table, .adapters = false, .type = SavedType(job)}, pieces, progress,
                     &file);
}

}  // namespace trainctl::train
