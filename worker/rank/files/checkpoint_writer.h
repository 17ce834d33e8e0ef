// Writing a checkpoint (format: checkpoint_manifest.h) by a gang whose ranks see one folder. Ranks
// meet in the folder, not in a collective: the bytes go to the disk from a thread behind the
// training, whose collectives must keep their order.
//
// Each rank writes its file and then "rank-<r>-of-<w>.json". That is its part of the manifest, and
// the sign that its file is whole and synced. Rank 0 waits for all of these, writes manifest.json,
// syncs, and renames the folder. A rank that fails abandons the folder, which rank 0 notices.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/files/checkpoint_folder.h"
#include "worker/rank/files/checkpoint_manifest.h"
#include "worker/rank/files/digest.h"
#include "worker/rank/files/safetensors_writer.h"

namespace trainctl::files {

// One rank's part. Not thread-safe.
class CheckpointPart {
 public:
  struct Options {
    CheckpointPlace place;
    int64_t rank = 0;
    int64_t world_size = 1;
    std::vector<CheckpointSlice> slices;  // digests are computed
  };
  // Makes the folders where they are not there. Errors: kIo, kExhausted (disk full), kInvalid (a
  // slice twice).
  static base::Result<CheckpointPart> Create(Options options);

  // The next bytes of the slices, in their order, in pieces of any size. Errors: kIo, kExhausted.
  base::Status Append(std::span<const std::byte> bytes);
  // All bytes were appended (CHECK). Errors: kIo, kExhausted.
  base::Status Finish();

 private:
  CheckpointPart(std::string folder, CheckpointFile file, SafetensorsWriter writer);

  std::string folder_;
  CheckpointFile file_;
  SafetensorsWriter writer_;
  Xxh64Stream digest_;       // of the slice under way
  size_t slice_ = 0;         //
  int64_t slice_bytes_ = 0;  // of it, so far
};

// Asked between looks for the other ranks' parts; pauses a little, and says false where it is time
// to give up.
using KeepWaiting = std::function<bool()>;

// On rank 0, after its own part is finished. Errors: kUnavailable (given up; the ranks that are
// missing are named); kConflict (another rank abandoned it), kInvalid (a part that cannot be read),
// kIo, kExhausted.
base::Status CompleteCheckpoint(const CheckpointPlace& place, CheckpointManifest manifest,
                                const KeepWaiting& keep_waiting);

}  // namespace trainctl::files
