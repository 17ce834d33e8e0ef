#include "worker/rank/files/checkpoint_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "common/base/error_number.h"
#include "common/base/file.h"
#include "common/base/saved_folder.h"

namespace trainctl::files {
namespace {

namespace fs = std::filesystem;

constexpr char kManifest[] = "manifest.json";
constexpr size_t kMaxManifestBytes = size_t{16} << 20;

std::vector<std::string> NamesIn(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end;
       entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  return names;
}

// The manifest of a checkpoint whose files are there. kInvalid where one is missing or has another
// size.
base::Result<FoundCheckpoint> OpenWhole(const std::string& path) {
  auto manifest = ReadCheckpointManifest(path);
  if (!manifest) return manifest.error();
  for (const CheckpointFile& file : manifest->files) {
    std::error_code error;
    const auto size = fs::file_size(path + "/" + file.name, error);
    if (error)
      return base::Error{base::Code::kInvalid,
                         "checkpoint '" + path + "': " + file.name + ": " + error.message()};
    if (static_cast<int64_t>(size) != file.size_bytes) {
      return base::Error{base::Code::kInvalid, "checkpoint '" + path + "': " + file.name + " has " +
                                                   std::to_string(size) +
                                                   " bytes: its manifest says " +
                                                   std::to_string(file.size_bytes)};
    }
  }
  return FoundCheckpoint{path, std::move(*manifest)};
}

// Reads errno.
base::Error RenameError(const std::string& from, const std::string& to) {
  return base::OsError("cannot rename '" + from + "' to '" + to + "'", errno);
}

bool SharesRun(const CheckpointManifest& manifest, const std::vector<std::string>& runs) {
  return std::ranges::any_of(manifest.runs, [&](const std::string& run) {
    return std::ranges::find(runs, run) != runs.end();
  });
}

const FoundCheckpoint* Best(const std::vector<FoundCheckpoint>& found) {
  const FoundCheckpoint* best = nullptr;
  for (const FoundCheckpoint& checkpoint : found) {
    const auto& loss = checkpoint.manifest.val_loss;
    if (loss && (best == nullptr || *loss <= *best->manifest.val_loss)) best = &checkpoint;
  }
  return best;
}

}  // namespace

std::string CheckpointsDirectory(const std::string& output_directory) {
  return output_directory + "/" + std::string(base::kCheckpointsFolder);
}

base::Result<CheckpointManifest> ReadCheckpointManifest(const std::string& path) {
  const std::string file = path + "/" + kManifest;
  const auto text = base::ReadRegularFile(file, kMaxManifestBytes);
  if (!text) return text.error();
  return CheckpointManifestFromJson(*text, file);
}

std::vector<FoundCheckpoint> ListCheckpoints(const std::string& directory) {
  std::vector<FoundCheckpoint> found;
  for (const std::string& name : NamesIn(directory)) {
    if (!job::CheckpointStep(name)) continue;
    auto checkpoint = OpenWhole(directory + "/" + name);
    if (checkpoint) found.push_back(std::move(*checkpoint));
  }
  std::ranges::sort(found, {}, [](const FoundCheckpoint& checkpoint) {
    return std::pair(checkpoint.manifest.written_at, checkpoint.manifest.step);
  });
  return found;
}

base::Result<FoundCheckpoint> FindCheckpoint(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(path, error))
    return base::Error{base::Code::kNotFound, "no folder '" + path + "' on this host"};
  if (fs::exists(path + "/" + kManifest, error)) return OpenWhole(path);
  for (const std::string& directory : {path, CheckpointsDirectory(path)}) {
    std::vector<FoundCheckpoint> found = ListCheckpoints(directory);
    if (!found.empty()) return std::move(found.back());
    for (const std::string& name : NamesIn(directory)) {
      if (!job::CheckpointStep(name)) continue;
      const auto damaged = OpenWhole(directory + "/" + name);
      if (!damaged)
        return base::Error{base::Code::kInvalid, "no whole checkpoint in '" + directory +
                                                     "': " + damaged.error().message};
    }
  }
  return base::Error{
      base::Code::kNotFound,
      "no checkpoint in '" + path + "': expected manifest.json, or folders step-<n> that have one"};
}

void RemoveLeftovers(const std::string& directory) {
  for (const std::string& name : NamesIn(directory)) {
    if (!name.ends_with(job::kWritingSuffix) && !name.ends_with(job::kRemovingSuffix)) continue;
    std::error_code error;
    fs::remove_all(directory + "/" + name, error);
  }
}

base::Status RemoveCheckpoint(const std::string& path) {
  const std::string doomed = path + std::string(job::kRemovingSuffix);
  std::error_code error;
  fs::remove_all(doomed, error);
  if (std::rename(path.c_str(), doomed.c_str()) != 0) return RenameError(path, doomed);
  fs::remove_all(doomed, error);
  if (error)
    return base::Error{base::Code::kIo, "cannot remove '" + doomed + "': " + error.message()};
  return base::Ok{};
}

base::Status SetAsideCheckpoint(const std::string& path) {
  const std::string aside = path + std::string(job::kDamagedSuffix);
  std::error_code error;
  fs::remove_all(aside, error);
  if (std::rename(path.c_str(), aside.c_str()) != 0) return RenameError(path, aside);
  return base::Ok{};
}

std::vector<std::string> SurplusCheckpoints(const std::string& directory,
                                            const KeptCheckpoints& kept,
                                            const std::vector<std::string>& runs) {
  std::vector<FoundCheckpoint> found = ListCheckpoints(directory);
  std::erase_if(found, [&](const FoundCheckpoint& checkpoint) {
    return !SharesRun(checkpoint.manifest, runs);
  });
  const FoundCheckpoint* best = kept.best ? Best(found) : nullptr;
  std::vector<std::string> surplus;
  for (size_t i = 0; i + static_cast<size_t>(kept.last) < found.size(); ++i) {
    if (&found[i] != best) surplus.push_back(found[i].path);
  }
  return surplus;
}

base::Status PublishCheckpoint(const CheckpointPlace& place) {
  const std::string from = place.temporary_path(), to = place.path();
  std::error_code error;
  if (!fs::exists(to, error)) {
    if (std::rename(from.c_str(), to.c_str()) != 0) return RenameError(from, to);
    return base::SyncFolder(place.directory);
  }
  if (renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    if (base::Status synced = base::SyncFolder(place.directory); !synced) return synced;
    return RemoveCheckpoint(from);
  }
  if (errno != EINVAL && errno != ENOSYS) return RenameError(from, to);
  if (base::Status removed = RemoveCheckpoint(to); !removed) return removed;
  if (std::rename(from.c_str(), to.c_str()) != 0) return RenameError(from, to);
  return base::SyncFolder(place.directory);
}

void AbandonCheckpoint(const CheckpointPlace& place) {
  static_cast<void>(RemoveCheckpoint(place.temporary_path()));
}

}  // namespace trainctl::files
