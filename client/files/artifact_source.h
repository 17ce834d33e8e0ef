// The files that a rank has saved. They are read where they lie on this machine, or through the
// coordinator from the worker of their host. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "client/api.h"
#include "client/files/folder_draft.h"
#include "common/rank/artifact.h"

namespace trainctl::client {

class ArtifactSource {
 public:
  virtual ~ArtifactSource() = default;
  // kNotFound, kIo; from afar also kUnavailable: no worker of that host answers.
  virtual base::Result<std::vector<job::ArtifactFile>> List() = 0;
  // A piece from offset on; empty: the file ends there.
  virtual base::Result<std::string> Read(const std::string& file, int64_t offset) = 0;
};

std::unique_ptr<ArtifactSource> LocalArtifact(std::string path);
// api outlives it. retry_later is called before a read is tried again, some times, since workers
// reconnect within seconds.
std::unique_ptr<ArtifactSource> RemoteArtifact(Api& api, std::string job, std::string path,
                                               std::function<void()> retry_later);

// All files, each checked against the size it was listed with. kConflict: one has changed
// meanwhile, or lies outside the artifact.
base::Status CopyFiles(ArtifactSource& source, const std::vector<job::ArtifactFile>& files,
                       FolderDraft* draft,
                       const std::function<void(int64_t bytes_done)>& on_progress);

int64_t BytesOf(const std::vector<job::ArtifactFile>& files);

}  // namespace trainctl::client
