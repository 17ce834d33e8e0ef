#include "worker/rank/state/save_adapter.h"

#include <algorithm>
#include <set>

#include "common/base/file.h"
#include "common/job/hub_id.h"
#include "common/job/saved_weights.h"
#include "worker/rank/files/adapter_config.h"
#include "worker/rank/state/element_types.h"
#include "worker/rank/state/tensor_files.h"
#include "worker/rank/state/tensor_piece.h"
#include "worker/rank/state/write_params.h"

namespace trainctl::train {
namespace {

// "model.layers.0.self_attn.q_proj" → "q_proj"
std::string LastWord(const std::string& path) { return path.substr(path.rfind('.') + 1); }

// Calls body(path) for each module that has a matrix of the model's own, or adapters.
template <class Body>
void ForModules(const ops::ParameterTable& table, bool adapters, const Body& body) {
  for (const ops::ParamSpec& spec : table.params) {
    if (spec.adapter != adapters || spec.shape.size() != 2) continue;
    for (const ops::ParamPiece& piece : spec.pieces)
      body(piece.name.substr(0, piece.name.rfind(adapters ? ".lora_" : ".weight")));
  }
}

// As peft reads them: a last word stands for all modules that end with it. Where another module,
// which is not adapted, ends so too, whole paths are named.
std::vector<std::string> TargetModules(const ops::ParameterTable& table) {
  std::set<std::string> adapted, ambiguous;
  ForModules(table, true, [&](const std::string& path) { adapted.insert(path); });
  ForModules(table, false, [&](const std::string& path) {
    if (!adapted.contains(path)) ambiguous.insert(LastWord(path));
  });
  std::vector<std::string> targets;
  ForModules(table, true, [&](const std::string& path) {
    const std::string word = LastWord(path);
    const std::string& target = ambiguous.contains(word) ? path : word;
    if (std::find(targets.begin(), targets.end(), target) == targets.end())
      targets.push_back(target);
  });
  return targets;
}

files::AdapterConfig ConfigOf(const job::JobSpec& job, const ops::ParameterTable& table) {
  const auto snapshot = job::SnapshotOf(job.model.path);  // whose id peft can look for anywhere
  return {.base_model = snapshot ? snapshot->id : job.model.path,
          .r = job.lora->r,
          .alpha = job.lora->alpha,
          .dropout = job.lora->dropout,
          .target_modules = TargetModules(table)};
}

void CreateAdapterFiles(const job::JobSpec& job, const ops::ParameterTable& table,
                        const std::string& directory, TensorFile& file) {
  if (base::Status made = MakeFolder(directory); !made.ok()) return file.Fail(made.error());
  const base::Status written = base::WriteFileAtomically(
      directory + "/" + files::kAdapterConfigFile, files::AdapterConfigJson(ConfigOf(job, table)));
  if (!written.ok()) return file.Fail(written.error());
  file.Create(directory + "/" + files::kAdapterWeightsFile);
}

}  // namespace

base::Status SaveAdapter(const job::JobSpec& job, const ops::ParameterTable& table,
                         const std::optional<std::string>& directory, strategy::Strategy& strategy,
                         const ByteProgress& progress) {
  const at::ScalarType type = ScalarTypeOf(job::SavedTypeOf(job));
  TensorFile file(type);
  for (const ops::ParamSpec& spec : table.params) {
    if (!spec.adapter) continue;
    for (const ops::ParamPiece& piece : spec.pieces)
      file.Declare(files::kAdapterPrefix + piece.name, PieceShape(spec, piece));
  }
  if (directory) CreateAdapterFiles(job, table, *directory, file);
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
