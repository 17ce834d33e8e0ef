// What a checkpoint says of itself: manifest.json, written last. A checkpoint is the whole state of
// a run between two steps, in a folder:
//
//   <output.dir>/checkpoints/step-<n>/     n steps are done
//     rank-<r>-of-<w>.safetensors          the slices that rank r wrote, one 1-D tensor
//                                          "<tensor>:<kind>:<begin>" each
//     manifest.json
//       {"version": 1, "step", "total_steps", "written_at", "world_size", "runs": ["j1", …],
//        "val_loss": null | number, "job": {canonical job},
//        "data": {"digest", "epoch", "step_in_epoch"},
//        "files": [{"name", "size_bytes",
//                   "slices": [{"tensor", "kind", "dtype", "elements_per_value", "begin", "count",
//                   "total", "digest"}]}]}
//
// A slice is values [begin, begin + count) of one kind of state of one tensor of the model's
// checkpoint. The kind ("master", "exp_avg", …) has `total` values there. So a folder can be read
// by any world size and strategy. Each slice has its own digest, not each file: whoever reads a
// part of a file checks that part. Learning rate, shuffles and dropout are functions of job and
// step: nothing else is state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/result.h"
#include "common/job/job.h"
#include "worker/rank/files/tensor_info.h"

namespace trainctl::files {

struct CheckpointSlice {
  std::string tensor;
  std::string kind;
  DType dtype = DType::kF32;
  int64_t elements_per_value = 1;  // elements of the tensor that one value belongs to
  int64_t begin = 0;               // first value
  int64_t count = 0;               // values
  int64_t total = 0;               // values of the whole tensor
  std::string digest;              // of its bytes (digest.h)

  int64_t size_bytes() const { return count * WidthBytes(dtype); }
  std::string stored_name() const { return tensor + ":" + kind + ":" + std::to_string(begin); }
};

struct CheckpointFile {
  std::string name;
  int64_t size_bytes = 0;
  std::vector<CheckpointSlice> slices;  // in the order of their bytes
};

struct CheckpointManifest {
  int64_t step = 0;
  int64_t total_steps = 0;
  base::WallMicros written_at = 0;
  int64_t world_size = 1;
  std::vector<std::string>
      runs;  // ids of the jobs whose training this is, oldest first: of a resumed run more than one
  std::optional<double> val_loss;  // of exactly this state
  job::JobSpec job;
  std::string data_digest;
  int64_t epoch = 0;
  int64_t step_in_epoch = 0;
  std::vector<CheckpointFile> files;
};

// As a rank's part of the manifest, and as the whole.
std::string ToJson(const CheckpointFile& file);
std::string ToJson(const CheckpointManifest& manifest);

// kInvalid names source, key and fault. What comes back is in range: names are plain file names,
// counts positive, begin + count ≤ total.
base::Result<CheckpointFile> CheckpointFileFromJson(std::string_view text,
                                                    const std::string& source);
base::Result<CheckpointManifest> CheckpointManifestFromJson(std::string_view text,
                                                            const std::string& source);

}  // namespace trainctl::files
