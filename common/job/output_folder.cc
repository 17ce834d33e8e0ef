#include "common/job/output_folder.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "common/base/file.h"
#include "common/base/parse_number.h"
#include "common/base/saved_folder.h"
#include "common/job/json_fields.h"
#include "common/json/write_json.h"

namespace trainctl::job {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxOwnerBytes = 64 << 10;
constexpr size_t kMostOverlaps = 16;
constexpr int64_t kMostEntries = 4096;
constexpr int kDeepestWithin = 2;  // 0: of the folder itself
constexpr std::string_view kPrefix = "owner-", kSuffix = ".json";

// "owner-3.json" → 3; 0 for any other name.
int64_t ClaimOf(const std::string& name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return 0;
  const size_t digits = name.size() - kPrefix.size() - kSuffix.size();
  return base::ParseNumber(std::string_view(name).substr(kPrefix.size(), digits)).value_or(0);
}

bool IsWrittenByRuns(const fs::directory_entry& entry) {
  const std::string name = entry.path().filename().string();
  std::error_code error;
  if (base::HoldsNoModel(name) && name != base::kOwnerFolder)
    return !fs::is_empty(entry.path(), error) && !error;
  return std::ranges::find(base::kCompanionFiles, name) != base::kCompanionFiles.end() ||
         name == "adapter_config.json" || name.ends_with(".safetensors") ||
         name.ends_with(".safetensors.index.json");
}

void AddOwned(const fs::path& path, std::vector<OverlappingFolder>* overlaps) {
  std::error_code error;
  if (!fs::exists(OwnerFolder(path.string()), error)) return;
  base::Result<OutputFolder> folder = ReadOutputFolder(path.string());
  if (!folder || !folder->owner) return;
  overlaps->push_back({path.string(), *folder->owner, std::move(folder->contents)});
}

void AddAround(const fs::path& folder, std::vector<OverlappingFolder>* overlaps) {
  for (fs::path at = folder; at.has_relative_path() && overlaps->size() < kMostOverlaps;) {
    at = at.parent_path();
    AddOwned(at, overlaps);
  }
}

void AddWithin(const fs::path& folder, std::vector<OverlappingFolder>* overlaps) {
  std::error_code error;
  int64_t entries = 0;
  fs::recursive_directory_iterator at(folder, fs::directory_options::skip_permission_denied, error);
  for (const fs::recursive_directory_iterator end; !error && at != end; at.increment(error)) {
    if (++entries > kMostEntries || overlaps->size() == kMostOverlaps) return;
    if (at.depth() == kDeepestWithin || at->path().filename() == base::kOwnerFolder)
      at.disable_recursion_pending();
    if (std::error_code ignored; !at->is_symlink(ignored) && at->is_directory(ignored))
      AddOwned(at->path(), overlaps);
  }
}

base::Error Unreadable(const std::string& path, const std::error_code& error) {
  return {base::Code::kIo, path + ": " + error.message()};
}

base::Status ReadContents(const std::string& directory, OutputFolder* folder) {
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    if (IsWrittenByRuns(*at)) folder->contents = at->path().filename().string();
  }
  if (!error || error == std::errc::no_such_file_or_directory) return base::Ok{};
  return Unreadable(directory, error);
}

base::Status ReadOwner(const std::string& output_dir, OutputFolder* folder) {
  const base::Result<int64_t> claims = CountClaims(output_dir);
  if (!claims) return claims.error();
  folder->claims = *claims;
  if (folder->claims == 0) return base::Ok{};
  const std::string path = OwnerPath(output_dir, folder->claims);
  const base::Result<std::string> text = base::ReadRegularFile(path, kMaxOwnerBytes);
  if (!text) return text.error();
  base::Result<FolderOwner> owner = ReadFields<FolderOwner>(*text, path, kOwnerFields);
  if (!owner) return owner.error();
  folder->owner = std::move(*owner);
  return base::Ok{};
}

bool MayWrite(const JobSpec& job, const OutputFolder& folder, const Claimant& claimant) {
  if (!folder.owner) return folder.contents.empty();
  const FolderOwner& owner = *folder.owner;
  if (owner.site != claimant.site) return false;
  if (owner.job == claimant.job_id) return true;
  const bool has_ended = std::ranges::count(claimant.ended_jobs, owner.job) > 0;
  return has_ended && IsFreeOnceEnded(job, folder);
}

// The claimant's already, or of a job that it goes on from: nothing is taken anew.
bool IsHeld(const JobSpec& job, const OutputFolder& folder, const Claimant& claimant) {
  return folder.owner &&
         (folder.owner->job == claimant.job_id || folder.owner->job == job.checkpoint.resume_job);
}

const OverlappingFolder* FindForeign(const JobSpec& job, const OutputFolder& folder,
                                     const Claimant& claimant) {
  if (IsHeld(job, folder, claimant)) return nullptr;
  const auto foreign = std::ranges::find_if(folder.overlaps, [&](const OverlappingFolder& other) {
    return !MayWrite(job, {.owner = other.owner, .contents = other.contents}, claimant);
  });
  return foreign == folder.overlaps.end() ? nullptr : &*foreign;
}

std::string OverlapHint(const JobSpec& job, const OverlappingFolder& other) {
  const bool is_around = other.path.size() < NormalFolder(*job.output.dir).size();
  return (is_around ? "it lies within " : "within it lies ") + other.path + " of " +
         other.owner.job + " (" + other.owner.name + "): " + kOtherFolder;
}

std::string Hint(const JobSpec& job, const OutputFolder& folder, const Claimant& claimant) {
  if (!folder.owner)
    return "it has " + folder.contents + ", which no job of trainctl owns: " + kOtherFolder;
  const FolderOwner& owner = *folder.owner;
  const std::string whose = OwnerText(owner);
  if (owner.site != claimant.site) {
    return whose + " of another coordinator: " + kOtherFolder +
           ", or remove it if it is no longer wanted";
  }
  if (IsFreeOnceEnded(job, folder))
    return whose + ", which is not known to have ended: " + kOtherFolder;
  return whose + ": " + kOtherFolder +
         "; where it has a checkpoint and steps left, trainctl resume " + owner.job +
         " goes on there";
}

}  // namespace

bool WritesOutput(const JobSpec& job) {
  return job.output.dir && (job.output.save != Save::kNone || job.checkpoint.every_steps ||
                            job.profile || !job.track.empty());
}

std::string NormalFolder(const std::string& path) {
  std::string normal = fs::path(path).lexically_normal().string();
  while (normal.size() > 1 && normal.back() == '/') normal.pop_back();
  return normal;
}

bool LiesIn(const std::string& path, const std::string& folder) {
  return path == folder || path.starts_with(folder.ends_with('/') ? folder : folder + "/");
}

std::string FindOwnedFolder(const std::string& path) {
  const fs::path start = NormalFolder(path);
  fs::path folder = start;
  for (int level = 0; level < 3; ++level, folder = folder.parent_path()) {
    std::error_code error;
    if (fs::exists(OwnerFolder(folder.string()), error)) return folder.string();
  }
  return start.string();
}

std::string OwnerFolder(const std::string& output_dir) {
  return output_dir + "/" + std::string(base::kOwnerFolder);
}

std::string OwnerPath(const std::string& output_dir, int64_t claim) {
  return OwnerFolder(output_dir) + "/" + std::string(kPrefix) + std::to_string(claim) +
         std::string(kSuffix);
}

std::string OwnerText(const FolderOwner& owner) {
  return "it belongs to " + owner.job + " (" + owner.name + ")";
}

bool IsFreeOnceEnded(const JobSpec& job, const OutputFolder& folder) {
  return folder.contents.empty() ||
         (folder.owner && folder.owner->job == job.checkpoint.resume_job);
}

std::string ToJson(const FolderOwner& owner) { return WriteJson(WriteFields(owner, kOwnerFields)); }

base::Result<int64_t> CountClaims(const std::string& output_dir) {
  const std::string directory = OwnerFolder(output_dir);
  int64_t claims = 0;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    claims = std::max(claims, ClaimOf(at->path().filename().string()));
  if (error && error != std::errc::no_such_file_or_directory) return Unreadable(directory, error);
  return claims;
}

base::Result<OutputFolder> ReadOutputFolder(const std::string& output_dir) {
  OutputFolder folder;
  if (const base::Status read = ReadContents(output_dir, &folder); !read) return read.error();
  if (const base::Status read = ReadOwner(output_dir, &folder); !read) return read.error();
  return folder;
}

base::Result<OutputFolder> ReadWithOverlaps(const std::string& output_dir) {
  base::Result<OutputFolder> folder = ReadOutputFolder(output_dir);
  if (!folder) return folder;
  const fs::path normal = NormalFolder(output_dir);
  AddAround(normal, &folder->overlaps);
  AddWithin(normal, &folder->overlaps);
  return folder;
}

std::optional<Problem> CheckOutputFolder(const JobSpec& job, const OutputFolder& folder,
                                         const Claimant& claimant) {
  const bool may_write = MayWrite(job, folder, claimant);
  const OverlappingFolder* foreign = may_write ? FindForeign(job, folder, claimant) : nullptr;
  if (may_write && foreign == nullptr) return std::nullopt;
  return Problem{"output.dir", 0, "\"" + *job.output.dir + "\"", "a folder that no other job owns",
                 foreign != nullptr ? OverlapHint(job, *foreign) : Hint(job, folder, claimant)};
}

}  // namespace trainctl::job
