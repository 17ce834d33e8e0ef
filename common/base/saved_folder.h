// Where a run keeps its checkpoints: in a folder of this name within its output.dir, beside the
// model. They come and go, also long after the model was saved, so they are no part of it when its
// files are listed, counted or copied.
#pragma once

#include <filesystem>
#include <string_view>

namespace trainctl::base {

inline constexpr std::string_view kCheckpointsFolder = "checkpoints";

// True where the walk through a saved folder stands at its checkpoints: the walk does not go into
// them then.
inline bool SkipCheckpoints(std::filesystem::recursive_directory_iterator& at) {
  if (at.depth() != 0 || at->path().filename() != kCheckpointsFolder) return false;
  at.disable_recursion_pending();
  return true;
}

}  // namespace trainctl::base
