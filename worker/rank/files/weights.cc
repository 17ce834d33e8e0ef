#include "worker/rank/files/weights.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "common/base/file.h"
#include "worker/rank/files/hf_directory.h"
#include "worker/rank/files/json_text.h"
#include "worker/rank/files/litgpt_names.h"
#include "worker/rank/files/model_config.h"
#include "worker/rank/files/tensor_text.h"

namespace trainctl::files {
namespace {

using nlohmann::json;

constexpr size_t kMaxIndexBytes = 100'000'000;
constexpr char kLitGptFile[] = "lit_model.pth";

// A single file, or an index of shards, in order of preference.
struct Form {
  const char* file;
  const char* index;
};
constexpr Form kForms[] = {{"model.safetensors", "model.safetensors.index.json"},
                           {"pytorch_model.bin", "pytorch_model.bin.index.json"}};

base::Error Invalid(const std::string& message) { return {base::Code::kInvalid, message}; }

// tensor → shard
base::Result<std::map<std::string, std::string>> ReadIndex(const std::string& path) {
  auto text = base::ReadRegularFile(path, kMaxIndexBytes);
  if (!text) return text.error();
  auto document = ParseJsonText(*text, path);
  if (!document) return document.error();
  if (!document->is_object() || !document->contains("weight_map") ||
      !document->at("weight_map").is_object()) {
    return Invalid(path + ": expected an object with \"weight_map\"");
  }
  std::map<std::string, std::string> shard_of;
  for (const auto& [tensor, shard] : document->at("weight_map").items()) {
    if (!shard.is_string() || !base::IsFileName(shard.get<std::string>())) {
      return Invalid(path + ": weight_map." + tensor + ": " + shard.dump() +
                     ": expected a file name");
    }
    shard_of[tensor] = shard.get<std::string>();
  }
  if (shard_of.empty()) return Invalid(path + ": weight_map is empty");
  return shard_of;
}

base::Error NoWeights(const std::string& directory) {
  std::error_code error;
  if (!std::filesystem::is_directory(directory, error))
    return {base::Code::kNotFound, "no model directory '" + directory + "'"};
  return {base::Code::kNotFound,
          "no weights in '" + directory +
              "': expected model.safetensors or pytorch_model.bin, or their index.json, or " +
              kLitGptFile};
}

// Runs of rows of a tensor's bytes.
std::vector<std::span<const std::byte>> Cut(std::span<const std::byte> bytes, int64_t row_bytes,
                                            const std::vector<RowRun>& runs) {
  std::vector<std::span<const std::byte>> parts;
  for (const RowRun& run : runs) {
    parts.push_back(bytes.subspan(static_cast<size_t>(run.row * row_bytes),
                                  static_cast<size_t>(run.rows * row_bytes)));
  }
  return parts;
}

int64_t RowsOf(const std::vector<RowRun>& runs) {
  int64_t rows = 0;
  for (const RowRun& run : runs) rows += run.rows;
  return rows;
}

}  // namespace

bool HasWeights(const std::string& directory) {
  return HasFile(directory, kLitGptFile) || std::ranges::any_of(kForms, [&](const Form& form) {
           return HasFile(directory, form.file) || HasFile(directory, form.index);
         });
}

base::Result<WeightFiles> WeightFiles::Open(const std::string& directory) {
  WeightFiles weights;
  weights.directory_ = directory;
  for (const Form& form : kForms) {
    const bool single = HasFile(directory, form.file);
    if (!single && !HasFile(directory, form.index)) continue;
    const auto added = single ? weights.AddFile(directory + "/" + form.file)
                              : weights.AddShards(directory, directory + "/" + form.index);
    if (!added) return added.error();
    if (auto named = weights.CompleteNames(); !named) return named.error();
    return weights;
  }
  if (!HasFile(directory, kLitGptFile)) return NoWeights(directory);
  if (auto added = weights.AddLitGpt(directory); !added) return added.error();
  return weights;
}

base::Status WeightFiles::AddFile(const std::string& path) {
  if (path.ends_with(".safetensors")) {
    auto file = SafetensorsFile::Open(path);
    if (!file) return file.error();
    files_.emplace_back(std::move(file).value());
    const auto& shard = std::get<SafetensorsFile>(files_.back());
    shard.AdviseSequential();
    for (const TensorInfo& info : shard.tensors()) {
      if (auto added = AddPlace({info, files_.size() - 1, {shard.Bytes(info)}}); !added)
        return added;
    }
    return base::Ok{};
  }
  auto file = TorchFile::Open(path);
  if (!file) return file.error();
  files_.emplace_back(std::move(file).value());
  const auto& shard = std::get<TorchFile>(files_.back());
  shard.file().AdviseSequential();
  for (const TorchFile::Tensor& tensor : shard.tensors()) {
    if (auto added = AddPlace({tensor.info, files_.size() - 1, {tensor.bytes}}); !added)
      return added;
  }
  return base::Ok{};
}

base::Status WeightFiles::AddShards(const std::string& directory, const std::string& index) {
  auto shard_of = ReadIndex(index);
  if (!shard_of) return shard_of.error();
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : *shard_of) shards.insert(shard);
  for (const std::string& shard : shards) {
    if (auto added = AddFile(directory + "/" + shard); !added) {
      return base::Error{added.error().code,
                         added.error().message + " (a shard that '" + index + "' names)"};
    }
  }
  for (const auto& [tensor, shard] : *shard_of) {
    const Place* place = FindPlace(tensor);
    if (place == nullptr || FileOf(*place).path() != directory + "/" + shard) {
      return Invalid(index + ": tensor '" + tensor + "' is not in its shard '" + shard + "'");
    }
  }
  return base::Ok{};
}

base::Status WeightFiles::AddLitGpt(const std::string& directory) {
  const std::string path = directory + "/" + kLitGptFile;
  const auto shape = ReadModelConfig(directory);
  if (!shape) {
    return base::Error{shape.error().code,
                       shape.error().message +
                           " (LitGPT keeps config.json or model_config.yaml beside " + path + ")"};
  }
  auto opened = TorchFile::Open(path);
  if (!opened) return opened.error();
  files_.emplace_back(std::move(opened).value());
  const auto& file = std::get<TorchFile>(files_.back());
  for (const TorchFile::Tensor& tensor : file.tensors()) {
    const auto parts = FromLitGpt(tensor.info.name, *shape);
    if (!parts)
      return Invalid(path + ": " + TensorText(tensor.info.name) + " is none of a LLaMA's");
    for (const LitGptPart& part : *parts) {
      Place place{tensor.info, files_.size() - 1, {tensor.bytes}};
      place.info.name = part.name;
      if (!part.runs.empty()) {
        const RowRun& last = parts->back().runs.back();
        if (tensor.info.shape.size() != 2 || tensor.info.shape[0] != last.row + last.rows) {
          return Invalid(path + ": " + TensorText(tensor.info.name) + " does not have the " +
                         std::to_string(last.row + last.rows) +
                         " rows that the configuration makes of q, k and v");
        }
        place.runs =
            Cut(tensor.bytes, tensor.info.shape[1] * WidthBytes(tensor.info.dtype), part.runs);
        place.info.shape[0] = RowsOf(part.runs);
        place.info.begin = place.info.end = 0;
      }
      if (auto added = AddPlace(std::move(place)); !added) return added;
    }
  }
  return base::Ok{};
}

base::Status WeightFiles::AddPlace(Place place) {
  const std::string name = place.info.name;
  const std::string path = FileOf(place).path();
  for (const std::span<const std::byte> run : place.runs)
    total_bytes_ += static_cast<int64_t>(run.size());
  const auto [old, is_new] = places_.emplace(name, std::move(place));
  if (!is_new)
    return Invalid(TensorText(name) + " stands in '" + FileOf(old->second).path() + "' and in '" +
                   path + "'");
  names_.push_back(name);
  return base::Ok{};
}

base::Status WeightFiles::CompleteNames() {
  for (std::string& name : names_) {
    if (!name.starts_with("decoder.")) continue;
    const std::string whole = "model." + name;
    if (FindPlace(whole) != nullptr)
      return Invalid(TensorText(whole) + " stands beside '" + ShownName(name) +
                     "', which is the same");
    auto place = places_.extract(name);
    place.key() = place.mapped().info.name = name = whole;
    places_.insert(std::move(place));
  }
  return base::Ok{};
}

const MappedFile& WeightFiles::FileOf(const Place& place) const {
  return std::visit([](const auto& file) -> const MappedFile& { return file.file(); },
                    files_[place.file]);
}

const WeightFiles::Place* WeightFiles::FindPlace(std::string_view name) const {
  const auto found = places_.find(std::string(name));
  return found == places_.end() ? nullptr : &found->second;
}

const TensorInfo* WeightFiles::Find(std::string_view name) const {
  const Place* place = FindPlace(name);
  return place == nullptr ? nullptr : &place->info;
}

const std::string& WeightFiles::PathOf(std::string_view name) const {
  const Place* place = FindPlace(name);
  CHECK(place != nullptr) << name;
  return FileOf(*place).path();
}

const std::vector<std::span<const std::byte>>& WeightFiles::Runs(std::string_view name) const {
  const Place* place = FindPlace(name);
  CHECK(place != nullptr) << name;
  return place->runs;
}

void WeightFiles::Release(std::string_view name) const {
  const Place* place = FindPlace(name);
  CHECK(place != nullptr) << name;
  for (const std::span<const std::byte> run : place->runs) FileOf(*place).Release(run);
}

}  // namespace trainctl::files
