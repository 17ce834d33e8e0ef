// The files of a model's directory, and of a checkpoint's.
#include <cstring>
#include <span>
#include <string>

#include "common/base/check.h"
#include "common/estimate/memory_estimate.h"
#include "common/model/model_description.h"
#include "tests/fuzz/scratch_file.h"
#include "tests/fuzz/targets.h"
#include "worker/rank/files/checkpoint_manifest.h"
#include "worker/rank/files/litgpt_config.h"
#include "worker/rank/files/model_config.h"
#include "worker/rank/files/safetensors.h"
#include "worker/rank/files/state_pickle.h"
#include "worker/rank/files/torch_file.h"

namespace trainctl::fuzz {
namespace {

std::span<const std::byte> AsBytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

job::JobSpec AnyJob() {
  job::JobSpec spec;
  spec.name = "job";
  spec.model.path = "m";
  spec.data.path = "d";
  spec.train.micro_batch_size = 4;
  return spec;
}

}  // namespace

// An input that begins with a header's JSON stands for that header, and 10 bytes of tensors.
bool ReadSafetensors(std::string_view bytes) {
  if (bytes.starts_with("{")) {
    const uint64_t size = bytes.size();
    std::string file(sizeof size, '\0');
    std::memcpy(file.data(), &size, sizeof size);
    return ReadSafetensors(file + std::string(bytes) + std::string(10, '\0'));
  }
  const auto header = files::ParseSafetensorsHeader(AsBytes(bytes), "m");
  if (!header) return false;
  for (const files::TensorInfo& tensor : header->tensors) {
    CHECK(tensor.begin >= 0 && tensor.begin <= tensor.end) << tensor.name;
    CHECK(header->data_begin + tensor.end <= static_cast<int64_t>(bytes.size())) << tensor.name;
  }
  return true;
}

bool ReadTorchFile(std::string_view bytes) {
  if (!bytes.starts_with("PK")) return files::ReadStatePickle(AsBytes(bytes), "m").ok();
  static const ScratchFolder folder;
  const auto file = files::TorchFile::Open(folder.Write("m.bin", bytes));
  if (!file) return false;
  size_t sum = 0;
  for (const files::TorchFile::Tensor& tensor : file->tensors()) {
    for (const std::byte byte : tensor.bytes) sum += static_cast<size_t>(byte);
  }
  return sum > 0 || !file->tensors().empty();
}

bool ReadModelConfig(std::string_view bytes) {
  const bool is_json = bytes.starts_with("{");
  const auto shape =
      is_json ? files::ParseModelConfig(bytes, "m") : files::ParseLitGptConfig(bytes, "m");
  if (!shape) return false;
  CHECK(job::Parameters(job::Describe(*shape)) > 0);
  const std::string text = files::ModelConfigText(*shape);
  const auto again = files::ParseModelConfig(text, "m");
  CHECK(again.ok()) << text << ": " << again.error().message;
  CHECK(files::ModelConfigText(*again) == text) << text;
  const job::Inspection inspection{.model = *shape, .rows = 1000, .longest_row = 400};
  for (const job::DeviceKind device : {job::DeviceKind::kCuda, job::DeviceKind::kCpu})
    CHECK(job::EstimateMemory(AnyJob(), inspection, device).peak_allocated > 0);
  return true;
}

bool ReadManifest(std::string_view bytes) {
  const auto part = files::CheckpointFileFromJson(bytes, "m");
  if (part) files::ToJson(*part);
  const auto manifest = files::CheckpointManifestFromJson(bytes, "m");
  if (!manifest) return part.ok();
  const std::string text = files::ToJson(*manifest);
  const auto again = files::CheckpointManifestFromJson(text, "m");
  CHECK(again.ok()) << text << ": " << again.error().message;
  return true;
}

}  // namespace trainctl::fuzz
