// What a rank has saved, as a worker of its host tells it to the coordinator: the list of its
// files, or a piece of one of them. The record of a saving: common/base/saved_folder.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace trainctl::job {

struct ArtifactFile {
  std::string path;  // relative to the artifact's; of an artifact that is a file its name
  int64_t bytes = 0;
};

struct ArtifactQuestion {
  std::string path;        // absolute
  std::string file;        // as it was listed; empty: list the files
  int64_t offset = 0;      // of the first byte wanted
  std::string record;      // of the rank that saved it
  std::string owner = {};  // of its job; empty: not known
};

struct ArtifactPiece {
  static constexpr size_t kMaxFiles = 10'000;
  static constexpr size_t kMaxBytes = 1 << 20;

  std::vector<ArtifactFile> files;  // of a listing, in order of path
  std::string data;                 // of a file; empty: it ends here
};

}  // namespace trainctl::job
