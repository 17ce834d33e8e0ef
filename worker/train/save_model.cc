#include "worker/train/save_model.h"

#include "worker/files/hf_directory.h"
#include "worker/train/tensor_files.h"
#include "worker/train/tensor_piece.h"

namespace trainctl::train {
namespace {

void CreateModelFile(const job::JobSpec& job, TensorFile& file) {
  const std::string& directory = *job.output.dir;
  if (base::Status made = MakeFolder(directory); !made.ok()) return file.Fail(made.error());
  const auto copied = files::CopyCompanionFiles(job.model.path, directory);
  if (!copied) return file.Fail(copied.error());
  file.Create(directory + "/model.safetensors");
}

}  // namespace

base::Status SaveModel(const job::JobSpec& job, const ops::ParameterTable& table, bool writes, strategy::Strategy& strategy) {
  TensorFile file(job.precision == job::Precision::kBf16True ? at::kBFloat16 : at::kFloat);
  for (const ops::ParamSpec& spec : table.params) {
    for (const ops::ParamPiece& piece : spec.pieces) file.Declare(piece.name, PieceShape(spec, piece));
  }
  if (writes) CreateModelFile(job, file);
  for (size_t param = 0; param < table.params.size(); ++param) {
    const at::Tensor rows = strategy.GetRows(static_cast<ops::ParamId>(param));
    for (const ops::ParamPiece& piece : table.params[param].pieces) file.Append(rows.narrow(0, piece.row, piece.rows));
  }
  return file.Finish();
}

}  // namespace trainctl::train
