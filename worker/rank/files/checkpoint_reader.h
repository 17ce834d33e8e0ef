// Reading the state of a checkpoint (format: checkpoint_manifest.h), mapped; any part of any
// tensor, whatever world size and strategy wrote it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/files/checkpoint_folder.h"
#include "worker/rank/files/checkpoint_manifest.h"
#include "worker/rank/files/safetensors.h"

namespace trainctl::files {

// Values [begin, begin + count) of one kind of state of one tensor.
struct StateRange {
  std::string tensor;
  std::string kind;
  int64_t elements_per_value = 1;
  int64_t begin = 0;
  int64_t count = 0;
  int64_t total = 0;
};

// Part of a range, as it lies in one file.
struct StatePiece {
  int64_t begin = 0;  // value
  int64_t count = 0;
  DType dtype = DType::kF32;
  std::span<const std::byte> bytes;
};

// Not thread-safe: it remembers what it has checked.
class CheckpointState {
 public:
  // Errors: kInvalid: a file that does not hold what the manifest says; a tensor of which values
  // are missing, stored twice, or counted differently. The message names checkpoint, tensor and
  // values. kNotFound, kIo.
  static base::Result<CheckpointState> Open(FoundCheckpoint found);

  const CheckpointManifest& manifest() const { return found_.manifest; }
  const std::string& path() const { return found_.path; }

  // Checks the digests of all slices that the ranges touch, each once, on some threads: they are
  // most of what reading costs. Errors: kIo: a wrong digest. Ranges of no state are left to Read.
  base::Status Check(std::span<const StateRange> ranges);

  // The pieces that make up the range, in order. Each slice that is touched is checked against its
  // digest, once. Spans live as long as the object. Errors: kInvalid: no such state (the optimizer
  // was another one), another total. kIo: a wrong digest.
  base::Result<std::vector<StatePiece>> Read(const StateRange& range);

  // The pieces were copied: their pages need not stay resident.
  void Release(const StateRange& range);

 private:
  struct Stored {
    const CheckpointSlice* slice;  // of the manifest
    size_t file;
    const TensorInfo* info;
    bool checked = false;
  };
  using Key = std::pair<std::string, std::string>;  // tensor, kind

  explicit CheckpointState(FoundCheckpoint found) : found_(std::move(found)) {}
  base::Status AddFile(const CheckpointFile& file);
  base::Status CheckCoverage();
  std::vector<Stored*> Unchecked(std::span<const StateRange> ranges);
  base::Status CheckDigest(Stored& stored) const;
  base::Error Invalid(const std::string& message) const;

  FoundCheckpoint found_;
  std::vector<SafetensorsFile> files_;
  std::map<Key, std::vector<Stored>> stored_;  // by begin
};

}  // namespace trainctl::files
