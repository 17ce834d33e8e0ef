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

// As configurations write it.
std::string_view NameOf(at::ScalarType type) { return type == at::kFloat ? "float32" : "bfloat16"; }

void CreateModelFile(const job::JobSpec& job, const std::string& directory, ModelFiles& file) {
  if (base::Status made = MakeFolder(directory); !made.ok()) return file.Fail(made.error());
  const auto copied = files::CopyCompanionFiles(job.model.path, directory, NameOf(SavedType(job)));
  if (!copied) return file.Fail(copied.error());
  file.Create(directory);
}

}  // namespace

base::Status SaveModel(const job::JobSpec& job, const ops::ParameterTable& table,
                       const std::optional<std::string>& directory, strategy::Strategy& strategy,
                       const ByteProgress& progress) {
  ModelFiles file(SavedType(job));
  for (const ops::ParamSpec& spec : table.params) {
    if (spec.adapter) continue;
    for (const ops::ParamPiece& piece : spec.pieces)
      file.Declare(piece.name, FileShape(spec, piece));
  }
  if (directory) CreateModelFile(job, *directory, file);
  const AdapterMerger merger(job, table, strategy);
  const auto pieces = [&](ops::ParamId param) { return merger.Pieces(param); };
  return WriteParams({.table = table, .adapters = false, .type = SavedType(job)}, pieces, progress,
                     &file);
}

}  // namespace trainctl::train
