#include "worker/rank/state/save_adapter.h"

#include <algorithm>

#include "common/base/file.h"
#include "common/job/hub_id.h"
#include "worker/rank/files/adapter_config.h"
#include "worker/rank/state/tensor_files.h"
#include "worker/rank/state/tensor_piece.h"
#include "worker/rank/state/write_params.h"

namespace trainctl::train {
namespace {

constexpr char kPrefix[] = "base_model.model.";

// "model.layers.0.self_attn.q_proj.lora_A.weight" → "q_proj"
std::string ModuleOf(const std::string& name) {
  const std::string path = name.substr(0, name.rfind(".lora_"));
  return path.substr(path.rfind('.') + 1);
}

files::AdapterConfig ConfigOf(const job::JobSpec& job, const ops::ParameterTable& table) {
  const auto snapshot = job::SnapshotOf(job.model.path);  // whose id peft can look for anywhere
  files::AdapterConfig config{.base_model = snapshot ? snapshot->id : job.model.path,
                              .r = job.lora->r,
                              .alpha = job.lora->alpha,
                              .dropout = job.lora->dropout,
                              .target_modules = {}};
  for (const ops::ParamSpec& spec : table.params) {
    if (!spec.adapter) continue;
    for (const ops::ParamPiece& piece : spec.pieces) {
      const std::string module = ModuleOf(piece.name);
      std::vector<std::string>& targets = config.target_modules;
      if (std::find(targets.begin(), targets.end(), module) == targets.end())
        targets.push_back(module);
    }
  }
  return config;
}

void CreateAdapterFiles(const job::JobSpec& job, const ops::ParameterTable& table,
                        TensorFile& file) {
  const std::string& directory = *job.output.dir;
  if (base::Status made = MakeFolder(directory); !made.ok()) return file.Fail(made.error());
  const base::Status written = base::WriteFileAtomically(
      directory + "/adapter_config.json", files::AdapterConfigJson(ConfigOf(job, table)));
  if (!written.ok()) return file.Fail(written.error());
  file.Create(directory + "/adapter_model.safetensors");
}

}  // namespace

base::Status SaveAdapter(const job::JobSpec& job, const ops::ParameterTable& table, bool writes,
                         strategy::Strategy& strategy, const ByteProgress& progress) {
  const at::ScalarType type =
      job.precision == job::Precision::kBf16True ? at::kBFloat16 : at::kFloat;
  TensorFile file(type);
  for (const ops::ParamSpec& spec : table.params) {
    if (!spec.adapter) continue;
    for (const ops::ParamPiece& piece : spec.pieces)
      file.Declare(kPrefix + piece.name, PieceShape(spec, piece));
  }
  if (writes) CreateAdapterFiles(job, table, file);
  const auto pieces = [&](ops::ParamId param) {
    const at::Tensor rows = strategy.GetRows(param);
    std::vector<at::Tensor> parts;
    for (const ops::ParamPiece& piece : table.params[static_cast<size_t>(param)].pieces)
      parts.push_back(rows.narrow(0, piece.row, piece.rows));
    return parts;
  };
  return WriteParams({.table = table, .adapters = true, .type = type}, pieces, progress, &file);
}

}  // namespace trainctl::train
