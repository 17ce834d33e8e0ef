// What a run has saved: which files of a folder are its own, and how the folder is known again.
//
// A rank records this when it has saved, and the coordinator keeps the record. A worker serves no
// other file, and none of a folder that has been replaced since. The record is text, one line each:
//   folder <device> <inode> <boot id>             the folder
//   saved <bytes> <inode> <modified ns> <path>    relative to the folder; of an artifact that is a
//                                                 file, its name
//   file <bytes> <inode> <path>                   the same of ranks up to 0.1.0
// Thread-safe.
#pragma once

#include <sys/stat.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace trainctl::base {

// A run keeps its checkpoints in a folder of this name within its output.dir, beside the model.
// Checkpoints come and go, also long after the model was saved. So they are no part of the model
// when its files are listed, counted or copied.
inline constexpr std::string_view kCheckpointsFolder = "checkpoints";

// Beside it: traces of steps, which are saved by themselves.
inline constexpr std::string_view kProfileFolder = "profile";

// Beside it: curves for TensorBoard, written while the run trains.
inline constexpr std::string_view kTensorboardFolder = "tensorboard";

// Beside them: whose the folder is (common/job/output_folder.h). No part of what was saved either.
inline constexpr std::string_view kOwnerFolder = ".trainctl";

// What a saved model has beside its weights, in the form of Hugging Face.
inline constexpr std::array<std::string_view, 12> kCompanionFiles = {
    "config.json",         "generation_config.json",   "tokenizer.json",
    "tokenizer.model",     "tokenizer_config.json",    "vocab.json",
    "merges.txt",          "special_tokens_map.json",  "added_tokens.json",
    "chat_template.jinja", "preprocessor_config.json", "processor_config.json",
};

// Beside them: chat templates of other names, each a file "NAME.jinja".
inline constexpr std::string_view kMoreTemplatesFolder = "additional_chat_templates";

// Whether a folder in an output.dir is one of those that hold no model.
inline bool HoldsNoModel(std::string_view name) {
  return name == kCheckpointsFolder || name == kProfileFolder || name == kTensorboardFolder ||
         name == kOwnerFolder;
}

// True where the walk through a saved folder stands at one of these: the walk does not go into it
// then.
inline bool SkipCheckpoints(std::filesystem::recursive_directory_iterator& at) {
  if (at.depth() != 0 || !HoldsNoModel(at->path().filename().string())) return false;
  at.disable_recursion_pending();
  return true;
}

struct SavedFile {
  std::string path;
  int64_t bytes = 0;
  uint64_t inode = 0;
  int64_t modified_ns = 0;  // 0: nobody recorded it

  // Whether this is the saved file itself: neither another of its name, nor written to since.
  bool IsOf(const struct stat& status) const;
  bool operator==(const SavedFile&) const = default;
};

struct SavedRecord {
  uint64_t device = 0;
  uint64_t inode = 0;
  std::string boot_id;  // a device's number holds for one boot
  std::vector<SavedFile> files;

  // Whether this is the saved folder or file itself, not one that took its place.
  bool IsOf(const struct stat& status) const;
  // nullptr: the run saved no such file.
  const SavedFile* Find(std::string_view path) const;
  int64_t Bytes() const;
};

inline constexpr size_t kMaxSavedFiles = 4096;
inline constexpr size_t kMaxRecordBytes = 512 << 10;

// The record of all regular files of a folder, in order of path, without checkpoints and links. An
// artifact that is a file is its own only one. kNotFound: nothing is there. kExhausted: more than
// kMaxSavedFiles, or kMaxRecordBytes. kIo.
Result<SavedRecord> RecordSaved(const std::string& path);

std::string ToText(const SavedRecord& record);
// kInvalid: no such record.
Result<SavedRecord> ParseSavedRecord(std::string_view text);

}  // namespace trainctl::base
