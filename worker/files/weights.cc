#include "worker/files/weights.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <utility>

#include "common/base/file.h"
#include "worker/files/hf_directory.h"
#include "worker/files/json_text.h"

namespace trainctl::files {
namespace {

using nlohmann::json;

constexpr char kSingleFile[] = "model.safetensors";
constexpr char kIndexFile[] = "model.safetensors.index.json";
constexpr size_t kMaxIndexBytes = 100'000'000;

base::Error Invalid(const std::string& message) { return {base::Code::kInvalid, message}; }

// A shard is a plain file name: an index must not reach out of its directory.
bool IsFileName(const std::string& name) { return !name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos; }

// tensor → shard
base::Result<std::map<std::string, std::string>> ReadIndex(const std::string& path) {
  auto text = base::ReadFile(path, kMaxIndexBytes);
  if (!text) return text.error();
  auto document = ParseJsonText(*text, path);
  if (!document) return document.error();
  if (!document->is_object() || !document->contains("weight_map") || !document->at("weight_map").is_object()) {
    return Invalid(path + ": expected an object with \"weight_map\"");
  }
  std::map<std::string, std::string> shard_of;
  for (const auto& [tensor, shard] : document->at("weight_map").items()) {
    if (!shard.is_string() || !IsFileName(shard.get<std::string>())) {
      return Invalid(path + ": weight_map." + tensor + ": " + shard.dump() + ": expected a file name");
    }
    shard_of[tensor] = shard.get<std::string>();
  }
  if (shard_of.empty()) return Invalid(path + ": weight_map is empty");
  return shard_of;
}

base::Error NoWeights(const std::string& directory) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("pytorch_model") && name.ends_with(".bin")) {
      return Invalid("'" + entry.path().string() + "': weights in PyTorch's pickle format: not yet; convert them to safetensors");
    }
  }
  if (error) return {base::Code::kNotFound, "no model directory '" + directory + "': " + error.message()};
  return {base::Code::kNotFound, "no weights in '" + directory + "': expected model.safetensors or model.safetensors.index.json"};
}

}  // namespace

base::Result<WeightFiles> WeightFiles::Open(const std::string& directory) {
  WeightFiles weights;
  const std::string index = directory + "/" + kIndexFile;
  if (HasFile(directory, kSingleFile)) {
    auto file = SafetensorsFile::Open(directory + "/" + kSingleFile);
    if (!file) return file.error();
    if (auto status = weights.Add(std::move(file).value()); !status) return status.error();
    return weights;
  }
  if (!HasFile(directory, kIndexFile)) return NoWeights(directory);

  auto shard_of = ReadIndex(index);
  if (!shard_of) return shard_of.error();
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : *shard_of) shards.insert(shard);
  for (const std::string& shard : shards) {
    auto file = SafetensorsFile::Open(directory + "/" + shard);
    if (!file) return base::Error{file.error().code, file.error().message + " (a shard that '" + index + "' names)"};
    if (auto status = weights.Add(std::move(file).value()); !status) return status.error();
  }
  for (const auto& [tensor, shard] : *shard_of) {
    const Place* place = weights.FindPlace(tensor);
    if (place == nullptr || weights.shards_[place->shard].path() != directory + "/" + shard) {
      return Invalid(index + ": tensor '" + tensor + "' is not in its shard '" + shard + "'");
    }
  }
  return weights;
}

base::Status WeightFiles::Add(SafetensorsFile file) {
  shards_.push_back(std::move(file));
  const SafetensorsFile& shard = shards_.back();
  shard.AdviseSequential();
  for (const TensorInfo& info : shard.tensors()) {
    const auto [place, is_new] = places_.emplace(info.name, Place{shards_.size() - 1, &info});
    if (!is_new) {
      return Invalid("tensor '" + info.name + "' stands in '" + shards_[place->second.shard].path() + "' and in '" + shard.path() + "'");
    }
    names_.push_back(info.name);
    total_bytes_ += info.size_bytes();
  }
  return base::Ok{};
}

const WeightFiles::Place* WeightFiles::FindPlace(std::string_view name) const {
  const auto found = places_.find(std::string(name));
  return found == places_.end() ? nullptr : &found->second;
}

const TensorInfo* WeightFiles::Find(std::string_view name) const {
  const Place* place = FindPlace(name);
  return place == nullptr ? nullptr : place->info;
}

std::span<const std::byte> WeightFiles::Bytes(std::string_view name) const {
  const Place* place = FindPlace(name);
  CHECK(place != nullptr) << name;
  return shards_[place->shard].Bytes(*place->info);
}

void WeightFiles::Release(std::string_view name) const {
  const Place* place = FindPlace(name);
  CHECK(place != nullptr) << name;
  shards_[place->shard].Release(*place->info);
}

}  // namespace trainctl::files
