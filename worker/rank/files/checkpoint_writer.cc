#include "worker/rank/files/checkpoint_writer.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "common/base/file.h"

namespace trainctl::files {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxPartBytes = size_t{16} << 20;

std::string PartName(int64_t rank, int64_t world_size) {
  return "rank-" + std::to_string(rank) + "-of-" + std::to_string(world_size);
}

base::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!error) return base::Ok{};
  const bool full = error == std::errc::no_space_on_device;
  return base::Error{full ? base::Code::kExhausted : base::Code::kIo,
                     "cannot make the folder '" + folder + "': " + error.message()};
}

std::string Join(const std::vector<int64_t>& ranks) {
  std::string text;
  for (const int64_t rank : ranks) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return text;
}

std::vector<int64_t> MissingParts(const std::string& folder, int64_t world_size) {
  std::vector<int64_t> missing;
  for (int64_t rank = 0; rank < world_size; ++rank) {
    std::error_code error;
    if (!fs::exists(folder + "/" + PartName(rank, world_size) + ".json", error))
      missing.push_back(rank);
  }
  return missing;
}

base::Status AwaitParts(const std::string& folder, int64_t world_size,
                        const KeepWaiting& keep_waiting) {
  for (;;) {
    const std::vector<int64_t> missing = MissingParts(folder, world_size);
    if (missing.empty()) return base::Ok{};
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
      return base::Error{
          base::Code::kConflict,
          "another rank could not write its part, see its log ('" + folder + "' is gone)"};
    }
    if (!keep_waiting()) {
      return base::Error{base::Code::kUnavailable,
                         "the parts of ranks " + Join(missing) + " did not appear in '" + folder +
                             "': does every host see the same output.dir?"};
    }
  }
}

base::Result<CheckpointFile> ReadPart(const std::string& path) {
  const auto text = base::ReadRegularFile(path, kMaxPartBytes);
  if (!text) return text.error();
  return CheckpointFileFromJson(*text, path);
}

}  // namespace

CheckpointPart::CheckpointPart(std::string folder, CheckpointFile file, SafetensorsWriter writer)
    : folder_(std::move(folder)), file_(std::move(file)), writer_(std::move(writer)) {}

base::Result<CheckpointPart> CheckpointPart::Create(Options options) {
  const std::string folder = options.place.temporary_path();
  if (auto made = MakeFolder(folder); !made) return made.error();
  CheckpointFile file{.name = PartName(options.rank, options.world_size) + ".safetensors",
                      .slices = std::move(options.slices)};
  std::vector<TensorInfo> tensors;
  for (const CheckpointSlice& slice : file.slices) {
    CHECK(slice.count > 0) << slice.stored_name() << ": no values";
    tensors.push_back({.name = slice.stored_name(), .dtype = slice.dtype, .shape = {slice.count}});
  }
  auto writer = SafetensorsWriter::Create(folder + "/" + file.name, std::move(tensors));
  if (!writer) return writer.error();
  return CheckpointPart(folder, std::move(file), std::move(writer).value());
}

base::Status CheckpointPart::Append(std::span<const std::byte> bytes) {
  if (auto written = writer_.Append(bytes); !written) return written;
  while (!bytes.empty()) {
    CheckpointSlice& slice = file_.slices[slice_];
    const auto left = static_cast<size_t>(slice.size_bytes() - slice_bytes_);
    const std::span<const std::byte> part = bytes.first(std::min(left, bytes.size()));
    digest_.Update(part);
    slice_bytes_ += static_cast<int64_t>(part.size());
    bytes = bytes.subspan(part.size());
    if (part.size() < left) continue;
    slice.digest = digest_.Digest();
    digest_ = {};
    slice_bytes_ = 0;
    ++slice_;
  }
  return base::Ok{};
}

base::Status CheckpointPart::Finish() {
  if (auto finished = writer_.Finish(); !finished) return finished;
  std::error_code error;
  const std::string path = folder_ + "/" + file_.name;
  file_.size_bytes = static_cast<int64_t>(fs::file_size(path, error));
  if (error) return base::Error{base::Code::kIo, "'" + path + "': " + error.message()};
  return base::WriteFileAtomically(fs::path(path).replace_extension(".json").string(),
                                   ToJson(file_));
}

base::Status CompleteCheckpoint(const CheckpointPlace& place, CheckpointManifest manifest,
                                const KeepWaiting& keep_waiting) {
  const std::string folder = place.temporary_path();
  if (auto waited = AwaitParts(folder, manifest.world_size, keep_waiting); !waited) return waited;
  manifest.files.clear();
  for (int64_t rank = 0; rank < manifest.world_size; ++rank) {
    const std::string path = folder + "/" + PartName(rank, manifest.world_size) + ".json";
    auto part = ReadPart(path);
    if (!part) return part.error();
    manifest.files.push_back(std::move(*part));
  }
  if (auto written = base::WriteFileAtomically(folder + "/manifest.json", ToJson(manifest));
      !written)
    return written;
  for (int64_t rank = 0; rank < manifest.world_size; ++rank) {
    std::error_code ignored;  // a part that stays does no harm
    fs::remove(folder + "/" + PartName(rank, manifest.world_size) + ".json", ignored);
  }
  return PublishCheckpoint(place);
}

}  // namespace trainctl::files
