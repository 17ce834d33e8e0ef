#include "worker/rank/files/checkpoint_reader.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "worker/rank/files/digest.h"

namespace trainctl::files {
namespace {

constexpr size_t kCheckThreads = 4;

std::string Values(int64_t begin, int64_t end) {
  return "values " + std::to_string(begin) + " to " + std::to_string(end);
}

bool Touches(const CheckpointSlice& slice, const StateRange& range) {
  return slice.begin < range.begin + range.count && range.begin < slice.begin + slice.count;
}

std::string NameOf(const std::pair<std::string, std::string>& key) {
  return key.second + " of " + key.first;
}

}  // namespace

base::Error CheckpointState::Invalid(const std::string& message) const {
  return {base::Code::kInvalid, "checkpoint '" + found_.path + "': " + message};
}

base::Result<CheckpointState> CheckpointState::Open(FoundCheckpoint found) {
  CheckpointState state(std::move(found));
  for (const CheckpointFile& file : state.found_.manifest.files) {
    if (auto added = state.AddFile(file); !added) return added.error();
  }
  if (auto covered = state.CheckCoverage(); !covered) return covered.error();
  return state;
}

base::Status CheckpointState::AddFile(const CheckpointFile& file) {
  auto opened = SafetensorsFile::Open(found_.path + "/" + file.name);
  if (!opened) return opened.error();
  files_.push_back(std::move(opened).value());
  const SafetensorsFile& tensors = files_.back();
  tensors.AdviseSequential();
  if (tensors.tensors().size() != file.slices.size()) {
    return Invalid(file.name + " holds " + std::to_string(tensors.tensors().size()) +
                   " tensors: its manifest says " + std::to_string(file.slices.size()));
  }
  for (const CheckpointSlice& slice : file.slices) {
    const TensorInfo* info = tensors.Find(slice.stored_name());
    if (info == nullptr || info->dtype != slice.dtype ||
        info->shape != std::vector<int64_t>{slice.count}) {
      return Invalid(file.name + ": tensor '" + slice.stored_name() +
                     "' is not there as its manifest says: " + std::string(Name(slice.dtype)) +
                     " [" + std::to_string(slice.count) + "]");
    }
    stored_[{slice.tensor, slice.kind}].push_back({&slice, files_.size() - 1, info});
  }
  return base::Ok{};
}

base::Status CheckpointState::CheckCoverage() {
  for (auto& [key, list] : stored_) {
    std::ranges::sort(list, {}, [](const Stored& stored) { return stored.slice->begin; });
    const CheckpointSlice& first = *list.front().slice;
    int64_t end = 0;
    for (const Stored& stored : list) {
      const CheckpointSlice& slice = *stored.slice;
      if (slice.total != first.total || slice.elements_per_value != first.elements_per_value ||
          slice.dtype != first.dtype) {
        return Invalid(NameOf(key) + ": its slices differ in total, elements_per_value or dtype");
      }
      if (slice.begin > end)
        return Invalid(NameOf(key) + ": " + Values(end, slice.begin) + " are in no file");
      if (slice.begin < end)
        return Invalid(NameOf(key) + ": " + Values(slice.begin, end) + " are stored twice");
      end += slice.count;
    }
    if (end != first.total)
      return Invalid(NameOf(key) + ": " + Values(end, first.total) + " are in no file");
  }
  return base::Ok{};
}

std::vector<CheckpointState::Stored*> CheckpointState::Unchecked(
    std::span<const StateRange> ranges) {
  std::vector<Stored*> unchecked;
  for (const StateRange& range : ranges) {
    const auto found = stored_.find({range.tensor, range.kind});
    if (found == stored_.end()) continue;
    for (Stored& stored : found->second) {
      if (!stored.checked && Touches(*stored.slice, range)) unchecked.push_back(&stored);
    }
  }
  std::ranges::sort(unchecked);
  unchecked.erase(std::ranges::unique(unchecked).begin(), unchecked.end());
  return unchecked;
}

base::Status CheckpointState::Check(std::span<const StateRange> ranges) {
  const std::vector<Stored*> slices = Unchecked(ranges);
  std::vector<base::Status> found(slices.size(), base::Ok{});
  std::atomic<size_t> next = 0;
  const auto check = [&] {
    for (size_t i = next++; i < slices.size(); i = next++) found[i] = CheckDigest(*slices[i]);
  };
  {
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < std::min(kCheckThreads, slices.size()); ++i) threads.emplace_back(check);
    check();
  }
  const auto wrong =
      std::ranges::find_if(found, [](const base::Status& status) { return !status.ok(); });
  return wrong == found.end() ? base::Status(base::Ok{}) : *wrong;
}

base::Status CheckpointState::CheckDigest(Stored& stored) const {
  if (stored.checked) return base::Ok{};
  const std::string digest = Digest(files_[stored.file].Bytes(*stored.info));
  if (digest != stored.slice->digest) {
    base::Error damaged =
        Invalid(found_.manifest.files[stored.file].name + ": tensor '" + stored.info->name +
                "' has digest " + digest + ": it was written with " + stored.slice->digest +
                "; the file is damaged");
    damaged.code = base::Code::kIo;
    return damaged;
  }
  stored.checked = true;
  return base::Ok{};
}

base::Result<std::vector<StatePiece>> CheckpointState::Read(const StateRange& range) {
  const auto found = stored_.find({range.tensor, range.kind});
  if (found == stored_.end()) {
    return Invalid("no " + range.kind + " of " + range.tensor +
                   ": was it written with the same model, optimizer and lora settings?");
  }
  const CheckpointSlice& first = *found->second.front().slice;
  if (first.total != range.total || first.elements_per_value != range.elements_per_value) {
    return Invalid(NameOf(found->first) + " has " + std::to_string(first.total) +
                   " values: expected " + std::to_string(range.total));
  }
  CHECK(range.begin >= 0 && range.begin + range.count <= range.total)
      << range.tensor << ": " << range.begin << " + " << range.count;
  std::vector<StatePiece> pieces;
  for (Stored& stored : found->second) {
    const CheckpointSlice& slice = *stored.slice;
    const int64_t begin = std::max(range.begin, slice.begin),
                  end = std::min(range.begin + range.count, slice.begin + slice.count);
    if (begin >= end) continue;
    if (auto intact = CheckDigest(stored); !intact) return intact.error();
    const int64_t width = WidthBytes(slice.dtype);
    const auto bytes = files_[stored.file]
                           .Bytes(*stored.info)
                           .subspan(static_cast<size_t>((begin - slice.begin) * width),
                                    static_cast<size_t>((end - begin) * width));
    pieces.push_back({begin, end - begin, slice.dtype, bytes});
  }
  return pieces;
}

void CheckpointState::Release(const StateRange& range) {
  const auto found = stored_.find({range.tensor, range.kind});
  if (found == stored_.end()) return;
  for (const Stored& stored : found->second) {
    const CheckpointSlice& slice = *stored.slice;
    if (Touches(slice, range)) files_[stored.file].Release(*stored.info);
  }
}

}  // namespace trainctl::files
