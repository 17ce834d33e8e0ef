#include "worker/rank/state/model_files.h"

#include <cstdio>
#include <filesystem>
#include <sstream>
#include <utility>

#include "common/base/check.h"
#include "common/base/file.h"
#include "common/json/write_json.h"

namespace trainctl::train {
namespace {

constexpr char kSingle[] = "model.safetensors";
constexpr char kIndex[] = "model.safetensors.index.json";

// "model-00001-of-00003.safetensors", as transformers names them.
std::string ShardName(size_t place, size_t count) {
  char name[64];
  std::snprintf(name, sizeof name, "model-%05zu-of-%05zu.safetensors", place + 1, count);
  return name;
}

// The largest magnitude that rounding made infinite. What was infinite may stay so: a job can be
// told to save it.
std::optional<double> FindOverflow(const at::Tensor& values, const at::Tensor& rounded) {
  if (values.scalar_type() == rounded.scalar_type()) return std::nullopt;
  const at::Tensor is_infinite = rounded.isinf();
  if (!is_infinite.any().item<bool>()) return std::nullopt;
  const at::Tensor before = values.cpu().masked_select(is_infinite).abs();
  const at::Tensor finite = before.masked_select(before.isfinite());
  if (finite.numel() == 0) return std::nullopt;
  return finite.max().item<double>();
}

base::Error OutOfRange(const std::string& tensor, double magnitude, at::ScalarType type) {
  std::ostringstream text;
  text << "tensor '" << tensor << "' has a weight of magnitude " << magnitude << ", more than a "
       << c10::getDtypeNames(type).first << " holds: set output.dtype to float32 or bfloat16";
  return {base::Code::kInvalid, text.str()};
}

base::Status KeepForm(const std::string& directory, bool sharded) {
  const std::string stale = directory + "/" + (sharded ? kSingle : kIndex);
  std::error_code error;
  std::filesystem::remove(stale, error);
  if (!error) return base::Ok{};
  return base::Error{base::Code::kIo,
                     "cannot remove the older '" + stale + "': " + error.message()};
}

}  // namespace

void ModelFiles::Declare(const std::string& name, std::vector<int64_t> shape) {
  int64_t bytes = static_cast<int64_t>(c10::elementSize(type_));
  for (const int64_t size : shape) bytes *= size;
  declared_.push_back({name, std::move(shape), bytes});
}

void ModelFiles::PlanShards() {
  int64_t bytes = 0;
  for (size_t tensor = 0; tensor < declared_.size(); ++tensor) {
    if (shards_.empty() || bytes + declared_[tensor].bytes > most_shard_bytes_) {
      shards_.push_back({tensor, tensor, ""});
      bytes = 0;
    }
    bytes += declared_[tensor].bytes;
    shards_.back().end = tensor + 1;
  }
  for (size_t i = 0; i < shards_.size(); ++i)
    shards_[i].name = shards_.size() == 1 ? kSingle : ShardName(i, shards_.size());
}

void ModelFiles::Create(const std::string& directory) {
  if (error_) return;
  directory_ = directory;
  PlanShards();
}

void ModelFiles::Fail(base::Error error) {
  if (!error_) error_ = std::move(error);
  file_.reset();
}

void ModelFiles::BeginShard() {
  const Shard& shard = shards_[shard_];
  file_.emplace(type_);
  for (size_t tensor = shard.first; tensor < shard.end; ++tensor)
    file_->Declare(declared_[tensor].name, declared_[tensor].shape);
  file_->Create(directory_ + "/" + shard.name);
}

void ModelFiles::EndShard() {
  if (base::Status finished = file_->Finish(); !finished.ok()) return Fail(finished.error());
  file_.reset();
  ++shard_;
}

void ModelFiles::Append(const at::Tensor& values) {
  if (directory_.empty() || error_) return;
  CHECK(tensor_ < declared_.size()) << "more tensors than were declared";
  const at::Tensor rounded = values.to(type_).cpu();
  if (const auto largest = FindOverflow(values, rounded))
    return Fail(OutOfRange(declared_[tensor_].name, *largest, type_));
  if (!file_) BeginShard();
  file_->Append(rounded);
  ++tensor_;
  if (tensor_ == shards_[shard_].end) EndShard();
}

base::Status ModelFiles::WriteIndex() const {
  job::JsonNode map = job::JsonNode::Object();
  int64_t total_bytes = 0;
  for (const Shard& shard : shards_) {
    for (size_t tensor = shard.first; tensor < shard.end; ++tensor) {
      map.Add(declared_[tensor].name, shard.name);
      total_bytes += declared_[tensor].bytes;
    }
  }
  job::JsonNode index = job::JsonNode::Object();
  index.Add("metadata", job::JsonNode::Object().Add("total_size", total_bytes))
      .Add("weight_map", std::move(map));
  return base::WriteFileAtomically(directory_ + "/" + kIndex, job::WriteIndentedJson(index));
}

base::Status ModelFiles::Finish() {
  if (error_) return *error_;
  if (directory_.empty()) return base::Ok{};
  CHECK(tensor_ == declared_.size()) << tensor_ << " of " << declared_.size() << " tensors";
  const bool sharded = shards_.size() > 1;
  if (sharded) {
    if (base::Status written = WriteIndex(); !written.ok()) return written;
  }
  return KeepForm(directory_, sharded);
}

base::Status KeepOneForm(const std::string& directory, const base::SavedRecord& saved) {
  const bool sharded = saved.Find(kIndex) != nullptr;
  if (!sharded && saved.Find(kSingle) == nullptr) return base::Ok{};  // no model, but an adapter
  return KeepForm(directory, sharded);
}

}  // namespace trainctl::train
