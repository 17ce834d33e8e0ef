// The folder <output.dir>/checkpoints: names, what is whole in it, what goes. Names in it:
//
//   step-<n>                  a checkpoint, which is whole
//   step-<n>.<tag>.writing    one that the attempt `tag` writes
//   *.removing                one that is being removed
//   step-<n>.damaged          one whose bytes were not those that were written; it is never read
//
// A checkpoint gets its name by a rename, after everything in it is synced. Only one rank of a gang
// (rank 0) renames and removes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/rank/run_names.h"
#include "worker/rank/files/checkpoint_manifest.h"

namespace trainctl::files {

// Where one checkpoint goes.
struct CheckpointPlace {
  std::string directory;  // of all checkpoints of the run
  int64_t step = 0;
  std::string tag;  // of the attempt that writes: "j12.1"

  std::string path() const {
    return directory + "/" + std::string(job::kCheckpointPrefix) + std::to_string(step);
  }
  std::string temporary_path() const {
    return directory + "/" + job::UnfinishedCheckpoint(step, tag);
  }
};

std::string CheckpointsDirectory(const std::string& output_directory);

// Errors: kNotFound, kIo, kInvalid.
base::Result<CheckpointManifest> ReadCheckpointManifest(const std::string& path);

// A checkpoint that was found, by its manifest; its files are there with the sizes that the
// manifest gives.
struct FoundCheckpoint {
  std::string path;
  CheckpointManifest manifest;
};

// All whole checkpoints of a folder, the newest last; one that is damaged is left out. A folder
// that is not there has none. Newest is what was written last, not the highest step: a run may have
// begun anew in the folder of an older one.
std::vector<FoundCheckpoint> ListCheckpoints(const std::string& directory);

// `path` is a checkpoint, or a folder that holds some, or an output.dir that holds such a folder.
// Of several the newest whole one is taken. Errors: kNotFound, kInvalid: the message names the path
// and what was found instead.
base::Result<FoundCheckpoint> FindCheckpoint(const std::string& path);

// What writers that were killed left behind.
void RemoveLeftovers(const std::string& directory);

// Under another name first: a folder that is half removed never looks like a checkpoint. Errors:
// kIo.
base::Status RemoveCheckpoint(const std::string& path);

// A checkpoint whose bytes are damaged is not found any more. It stays as step-<n>.damaged, to be
// looked at. Errors: kIo.
base::Status SetAsideCheckpoint(const std::string& path);

struct KeptCheckpoints {
  int64_t last = 2;
  bool best = false;
};

// Paths of the checkpoints that share a run with `runs`, without the newest `last`. The one of
// lowest val_loss is left out too if that is asked for. Those of other runs in the same folder are
// not surplus.
std::vector<std::string> SurplusCheckpoints(const std::string& directory,
                                            const KeptCheckpoints& kept,
                                            const std::vector<std::string>& runs);

// Gives a temporary folder that is whole its name. An old checkpoint of the same step is replaced
// in one operation and removed after it. On a file system without RENAME_EXCHANGE it is moved aside
// first. Errors: kIo, kNotFound.
base::Status PublishCheckpoint(const CheckpointPlace& place);

// A temporary folder goes: its checkpoint will not be whole. Renamed first, so that ranks that
// still write into it notice.
void AbandonCheckpoint(const CheckpointPlace& place);

}  // namespace trainctl::files
