// The text form that checkpoint_manifest.h specifies.
#include "common/base/file.h"
#include "common/job/json_fields.h"
#include "common/json/write_json.h"
#include "worker/rank/files/checkpoint_manifest.h"

namespace trainctl::files {
namespace {

constexpr int64_t kVersion = 1;
constexpr int64_t kMostManifestValues =
    int64_t{1} << 53;  // sums and products with a width stay within 64 bits

constexpr auto kSliceFields = [](auto& fields, auto& slice) {
  fields.Member("tensor", slice.tensor);
  fields.Member("kind", slice.kind);
  fields.Named("dtype", slice.dtype, ParseDType);
  fields.Within("elements_per_value", slice.elements_per_value, 1, kMostManifestValues);
  fields.Within("begin", slice.begin, 0, kMostManifestValues);
  fields.Within("count", slice.count, 1, kMostManifestValues);
  fields.Within("total", slice.total, 1, kMostManifestValues);
  fields.Expect("count", slice.count <= slice.total - slice.begin,
                "the slice ends beyond its tensor's total");
  fields.Member("digest", slice.digest);
};

constexpr auto kFileFields = [](auto& fields, auto& file) {
  fields.Member("name", file.name);
  fields.Expect("name", base::IsFileName(file.name), "'" + file.name + "': expected a file name");
  fields.Within("size_bytes", file.size_bytes, 0, kMostManifestValues);
  fields.Objects("slices", file.slices, kSliceFields);
};

constexpr auto kDataFields = [](auto& fields, auto& manifest) {
  fields.Member("digest", manifest.data_digest);
  fields.Within("epoch", manifest.epoch, 0, kMostManifestValues);
  fields.Within("step_in_epoch", manifest.step_in_epoch, 0, kMostManifestValues);
};

constexpr auto kManifestFields = [](auto& fields, auto& manifest) {
  int64_t version = kVersion;
  fields.Member("version", version);
  fields.Expect("version", version == kVersion,
                std::to_string(version) + ": this program reads version 1");
  fields.Within("step", manifest.step, 0, kMostManifestValues);
  fields.Within("total_steps", manifest.total_steps, 0, kMostManifestValues);
  fields.Member("written_at", manifest.written_at);
  fields.Within("world_size", manifest.world_size, 1, kMostManifestValues);
  fields.Member("runs", manifest.runs);
  fields.Member("val_loss", manifest.val_loss);
  fields.Member("job", manifest.job);
  fields.Object("data", manifest, kDataFields);
  fields.Objects("files", manifest.files, kFileFields);
};

}  // namespace

std::string ToJson(const CheckpointFile& file) {
  return job::WriteJson(job::WriteFields(file, kFileFields)) + "\n";
}

std::string ToJson(const CheckpointManifest& manifest) {
  return job::WriteJson(job::WriteFields(manifest, kManifestFields)) + "\n";
}

base::Result<CheckpointFile> CheckpointFileFromJson(std::string_view text,
                                                    const std::string& source) {
  return job::ReadFields<CheckpointFile>(text, source, kFileFields);
}

base::Result<CheckpointManifest> CheckpointManifestFromJson(std::string_view text,
                                                            const std::string& source) {
  return job::ReadFields<CheckpointManifest>(text, source, kManifestFields);
}

}  // namespace trainctl::files
