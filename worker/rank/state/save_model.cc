#include "worker/rank/state/save_model.h"

#include "common/job/saved_weights.h"
#include "worker/rank/files/hf_directory.h"
#include "worker/rank/state/adapter_merger.h"
#include "worker/rank/state/element_types.h"
#include "worker/rank/state/model_files.h"
#include "worker/rank/state/tensor_files.h"
#include "worker/rank/state/tensor_piece.h"
#include "worker/rank/state/write_params.h"

namespace trainctl::train {
namespace {

void CreateModelFile(const job::JobSpec& job, const std::string& directory, ModelFiles& file) {
  if (base::Status made = MakeFolder(directory); !made.ok()) return file.Fail(made.error());
  const auto copied =
      files::CopyCompanionFiles(job.model.path, directory, job::InfoOf(job::SavedTypeOf(job)).name);
  if (!copied) return file.Fail(copied.error());
  file.Create(directory);
}

}  // namespace

base::Status SaveModel(const job::JobSpec& job, const ops::ParameterTable& table,
                       const std::optional<std::string>& directory, strategy::Strategy& strategy,
                       const ByteProgress& progress) {
  const at::ScalarType type = ScalarTypeOf(job::SavedTypeOf(job));
  ModelFiles file(type);
  for (const ops::ParamSpec& spec : table.params) {
    if (spec.adapter) continue;
    for (const ops::ParamPiece& piece : spec.pieces)
      file.Declare(piece.name, FileShape(spec, piece));
  }
  if (directory) CreateModelFile(job, *directory, file);
  const AdapterMerger merger(job, table, strategy);
  const auto pieces = [&](ops::ParamId param) { return merger.Pieces(param); };
  return WriteParams({.table = table, .adapters = false, .type = type}, pieces, progress, &file);
}

}  // namespace trainctl::train
