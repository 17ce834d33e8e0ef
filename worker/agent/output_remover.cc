#include "worker/agent/output_remover.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "common/base/descriptor.h"
#include "common/base/error_number.h"
#include "common/base/file.h"
#include "common/base/open_beneath.h"
#include "common/base/saved_folder.h"
#include "common/base/site_folder.h"
#include "common/job/output_folder.h"
#include "common/rank/run_names.h"
#include "worker/agent/owner_rights.h"

namespace trainctl::agent {
namespace {

namespace fs = std::filesystem;

constexpr int kDeepest = 8;   // of folders in an unfinished checkpoint
constexpr size_t kPaths = 5;  // of what is told of what stays

bool IsGone(int error) { return error == ENOENT || error == ENOTDIR; }

// Of a folder that is opened below another, or is that one: ".".
std::string Above(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  return parent.empty() ? "." : parent;
}

std::string In(const std::string& folder, const std::string& name) {
  return folder == "." ? name : folder + "/" + name;
}

// By which the opened one itself is reached, whatever its name leads to by now.
std::string OpenedPath(const base::Descriptor& opened) {
  return "/proc/self/fd/" + std::to_string(opened.get());
}

struct CloseFolder {
  void operator()(DIR* folder) const { ::closedir(folder); }
};

// The names in a folder beneath; none where it can't be listed.
std::vector<std::string> NamesIn(const base::Descriptor& root, const std::string& path) {
  base::Descriptor opened = base::OpenBeneath(root, path, O_RDONLY | O_DIRECTORY);
  std::vector<std::string> names;
  if (!opened.open()) return names;
  const std::unique_ptr<DIR, CloseFolder> folder(::fdopendir(opened.get()));
  if (folder == nullptr) return names;
  opened.Release();
  while (const dirent* entry = ::readdir(folder.get())) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

// Of a small file beneath; empty where there is none.
std::string TextOf(const base::Descriptor& root, const std::string& path) {
  const base::Descriptor opened = base::OpenBeneath(root, path, O_PATH);
  if (!opened.open()) return "";
  const auto text = base::ReadRegularFile(OpenedPath(opened), base::kMaxRecordBytes);
  return text ? *text : "";
}

bool IsFile(const struct stat& status) { return S_ISREG(status.st_mode); }

class Removal {
 public:
  Removal(const job::RemovalQuestion& question, base::Descriptor folder)
      : question_(question),
        path_(job::NormalFolder(question.path)),
        folder_(std::move(folder)),
        opened_path_(OpenedPath(folder_)) {}

  // may_remove: the folder itself, once it is empty.
  base::Result<job::RemovalAnswer> Run(const std::function<bool(const std::string&)>& may_remove) {
    base::Status done = FindOwner();
    if (done) done = FindSaved();
    for (auto saved = saved_.begin(); done && saved != saved_.end(); ++saved)
      done = RemoveSaved(saved->first, saved->second);
    if (done && claim_ > 0) done = RemoveByName();
    if (!done) return done.error();
    if (!question_.look_only) RemoveFolders(may_remove);
    return std::move(answer_);
  }

 private:
  using Places = std::map<std::string, std::vector<base::SavedRecord>>;  // by path in the folder

  std::string Full(const std::string& path) const {
    return path == "." ? path_ : path_ + "/" + path;
  }

  base::Error CannotRemove(const std::string& path, int error) const {
    return base::OsError("cannot remove '" + Full(path) + "'", error);
  }

  void Leave(const std::string& full_path, const std::string& why) {
    if (answer_.left.size() < job::RemovalAnswer::kMaxLeft)
      answer_.left.push_back({full_path, why});
  }

  // Of a folder that rank 0's host does not share nobody is the owner.
  base::Status FindOwner() {
    const base::Result<job::OutputFolder> folder = job::ReadOutputFolder(opened_path_);
    if (!folder) return base::Error{folder.error().code, path_ + ": " + folder.error().message};
    if (!folder->owner) return base::Ok{};
    const job::FolderOwner& owner = *folder->owner;
    if (owner.site != question_.site || owner.job != question_.job) {
      return base::Error{base::Code::kConflict,
                         path_ + " belongs to " + owner.job + " (" + owner.name + ")" +
                             (owner.site == question_.site ? "" : " of another coordinator")};
    }
    claim_ = folder->claims;
    return base::Ok{};
  }

  // Which files were recorded, of the places that are still those that were saved.
  base::Status FindSaved() {
    Places places = OwnRecords();
    for (const job::SavedPlace& place : question_.saved) {
      const std::string path =
          fs::path(job::NormalFolder(place.path)).lexically_relative(path_).string();
      if (path.empty() || path.starts_with("..")) {
        Leave(place.path, "lies outside of the job's output.dir");
      } else if (place.record.empty()) {
        Leave(place.path, "nobody recorded which of its files the job saved");
      } else {
        base::Result<base::SavedRecord> record = base::ParseSavedRecord(place.record);
        if (!record)
          return base::Error{record.error().code, place.path + ": " + record.error().message};
        places[path].push_back(std::move(*record));
      }
    }
    for (const auto& [path, records] : places) {
      if (base::Status found = FindSavedAt(path, records); !found) return found;
      if (!job::CheckpointStep(fs::path(path).filename().string())) continue;
      for (const std::string_view suffix : {job::kRemovingSuffix, job::kDamagedSuffix})
        AddSavedAt(path + std::string(suffix), records);
    }
    return base::Ok{};
  }

  // What the job's attempts recorded beside the owner file, of results that they may not have told.
  Places OwnRecords() {
    Places places;
    const std::string folder(base::kOwnerFolder);
    for (const std::string& name : NamesIn(folder_, folder)) {
      if (!job::IsResultRecordOf(name, question_.site, question_.job)) continue;
      base::Result<base::SavedRecord> record =
          base::ParseSavedRecord(TextOf(folder_, In(folder, name)));
      if (record)
        places["."].push_back(std::move(*record));
      else
        Leave(Full(In(folder, name)), record.error().message);
    }
    return places;
  }

  base::Status FindSavedAt(const std::string& path, const std::vector<base::SavedRecord>& records) {
    const base::Descriptor place = base::OpenBeneath(folder_, path, O_PATH);
    struct stat status{};
    if (!place.open() && errno == ELOOP) {
      Leave(Full(path), "a link has its place");
      return base::Ok{};
    }
    if (!place.open() && IsGone(errno)) return base::Ok{};
    if (!place.open() || ::fstat(place.get(), &status) != 0)
      return base::OsError(Full(path), errno);
    if (!AddSaved(path, status, records))
      Leave(Full(path), "is not what was saved: something else has its place");
    return base::Ok{};
  }

  // Of a checkpoint that got another name since: it is known again as well.
  void AddSavedAt(const std::string& path, const std::vector<base::SavedRecord>& records) {
    const base::Descriptor place = base::OpenBeneath(folder_, path, O_PATH);
    struct stat status{};
    if (place.open() && ::fstat(place.get(), &status) == 0) AddSaved(path, status, records);
  }

  // Whether one of the records is of what lies there.
  bool AddSaved(const std::string& path, const struct stat& status,
                const std::vector<base::SavedRecord>& records) {
    bool is_it = false;
    for (const base::SavedRecord& record : records) {
      if (!record.IsOf(status)) continue;
      is_it = true;
      for (const base::SavedFile& file : record.files)
        saved_[IsFile(status) ? path : In(path, file.path)].push_back(file);
    }
    return is_it;
  }

  base::Status RemoveSaved(const std::string& path, const std::vector<base::SavedFile>& files) {
    for (std::string folder = Above(path); folder != "." && folder != "/"; folder = Above(folder))
      folders_.insert(folder);
    return RemoveFile(path, [&](const struct stat& status) {
      return std::ranges::any_of(files, [&](const auto& file) { return file.IsOf(status); });
    });
  }

  // Of a name that lies here, and is a file as `is_it` wants it.
  base::Status RemoveFile(const std::string& path,
                          const std::function<bool(const struct stat&)>& is_it) {
    const std::string name = fs::path(path).filename().string();
    const base::Descriptor folder = base::OpenBeneath(folder_, Above(path), O_PATH | O_DIRECTORY);
    struct stat status{};
    if (!folder.open() && errno == ELOOP) {
      Leave(Full(path), "lies behind a link");
      return base::Ok{};
    }
    if (!folder.open() || ::fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0)
      return IsGone(errno) ? base::Status(base::Ok{}) : base::OsError(Full(path), errno);
    if (!is_it(status)) {
      Leave(Full(path), "was changed since it was saved");
      return base::Ok{};
    }
    if (!question_.look_only && ::unlinkat(folder.get(), name.c_str(), 0) != 0)
      return CannotRemove(path, errno);
    ++answer_.files;
    answer_.bytes += status.st_size;
    return base::Ok{};
  }

  // What its attempts leave without recording it (common/rank/run_names.h), in the folder that the
  // job owns.
  base::Status RemoveByName() {
    const auto of_job = [this](bool (*is_of)(std::string_view, std::string_view)) {
      return [this, is_of](std::string_view name) { return is_of(name, question_.job); };
    };
    const std::string own = job::OwnedPrefix(question_.site, question_.job);
    const auto is_unfinished = [&](std::string_view name) {
      return name.starts_with(own) && name.ends_with(job::kWritingSuffix);
    };
    base::Status done =
        RemoveNames(std::string(base::kTensorboardFolder), of_job(job::IsCurvesFileOf));
    if (done) done = RemoveNames(std::string(base::kProfileFolder), job::IsTraceDraft);
    const std::string checkpoints(base::kCheckpointsFolder);
    if (done) done = RemoveNames(checkpoints, of_job(job::IsUnfinishedCheckpointOf));
    if (done) done = RemoveNames(checkpoints, job::IsDoomedCheckpoint);
    if (done) done = RemoveNames(checkpoints, of_job(job::IsSharedFolderMarkOf));
    if (done) done = RemoveNames(std::string(base::kOwnerFolder), is_unfinished);
    return done;
  }

  // Files, and folders with what lies in them.
  base::Status RemoveNames(const std::string& folder,
                           const std::function<bool(std::string_view)>& is_of) {
    folders_.insert(folder);
    for (const std::string& name : NamesIn(folder_, folder)) {
      if (!is_of(name)) continue;
      if (base::Status done = RemoveTree(In(folder, name), kDeepest); !done) return done;
    }
    return base::Ok{};
  }

  base::Status RemoveTree(const std::string& path, int deepest) {
    if (deepest == 0 || !base::OpenBeneath(folder_, path, O_PATH | O_DIRECTORY).open())
      return RemoveFile(path, IsFile);
    folders_.insert(path);
    for (const std::string& name : NamesIn(folder_, path)) {
      if (base::Status done = RemoveTree(In(path, name), deepest - 1); !done) return done;
    }
    return base::Ok{};
  }

  // Only what is empty goes. The deepest first; the owner file once all else is done.
  void RemoveFolders(const std::function<bool(const std::string&)>& may_remove) {
    for (auto folder = folders_.rbegin(); folder != folders_.rend(); ++folder)
      RemoveFolder(*folder);
    if (claim_ > 0) RemoveOwner();
    struct stat named{}, opened{};
    const bool is_here = ::lstat(path_.c_str(), &named) == 0 &&
                         ::fstat(folder_.get(), &opened) == 0 && named.st_ino == opened.st_ino &&
                         named.st_dev == opened.st_dev;
    const bool is_empty = NamesIn(folder_, ".").empty();
    if (is_empty && is_here && may_remove(opened_path_)) ::rmdir(path_.c_str());
    if (!is_empty) TellWhatStays();
  }

  void RemoveFolder(const std::string& path) {
    const std::string name = fs::path(path).filename().string();
    const base::Descriptor above = base::OpenBeneath(folder_, Above(path), O_PATH | O_DIRECTORY);
    if (above.open()) ::unlinkat(above.get(), name.c_str(), AT_REMOVEDIR);
  }

  // It stays while there is what runs write: no job takes that for nobody's. Where another job
  // owned the folder before, that one is the owner again.
  void RemoveOwner() {
    const std::string folder(base::kOwnerFolder);
    const std::string own = fs::path(job::OwnerPath(path_, claim_)).filename().string();
    const std::string prefix = job::OwnedPrefix(question_.site, question_.job);
    for (const std::string& name : NamesIn(folder_, folder))
      if (name.starts_with(prefix)) RemoveOwned(name);
    const base::Result<job::OutputFolder> left = job::ReadOutputFolder(opened_path_);
    const bool is_alone = NamesIn(folder_, folder) == std::vector{own};
    if (!is_alone || (left && left->contents.empty())) RemoveOwned(own);
    RemoveFolder(folder);
  }

  void RemoveOwned(const std::string& name) {
    const std::string path = In(std::string(base::kOwnerFolder), name);
    const base::Descriptor folder = base::OpenBeneath(folder_, Above(path), O_PATH | O_DIRECTORY);
    if (folder.open() && ::unlinkat(folder.get(), name.c_str(), 0) != 0)
      Leave(Full(path), CannotRemove(path, errno).message);
  }

  // Adds what lies in the folder, but for owner files, until `paths` has more than are told.
  void AddPaths(const std::string& folder, int deepest, std::vector<std::string>* paths) const {
    for (const std::string& name : NamesIn(folder_, folder)) {
      if (paths->size() > kPaths) return;
      const std::string path = In(folder, name);
      if (path == base::kOwnerFolder) continue;
      const size_t before = paths->size();
      if (deepest > 0) AddPaths(path, deepest - 1, paths);
      if (paths->size() == before) paths->push_back(path);
    }
  }

  void TellWhatStays() {
    std::vector<std::string> paths;
    AddPaths(".", kDeepest, &paths);
    if (paths.empty()) paths.emplace_back(base::kOwnerFolder);
    std::string text;
    for (size_t i = 0; i < std::min(paths.size(), kPaths); ++i)
      text += (i == 0 ? "" : ", ") + paths[i];
    if (paths.size() > kPaths) text += " and more";
    Leave(path_, "stays, with " + text);
  }

  const job::RemovalQuestion& question_;
  const std::string path_;  // in its one spelling
  const base::Descriptor folder_;
  const std::string opened_path_;
  int64_t claim_ = 0;  // of the owner file, which is the job's; 0: there is none
  std::map<std::string, std::vector<base::SavedFile>> saved_;  // by path in the folder
  std::set<std::string> folders_;  // that may be empty then; one comes before what lies in it
  job::RemovalAnswer answer_;
};

}  // namespace

base::Result<job::RemovalAnswer> RemoveOutputs(const job::RemovalQuestion& question,
                                               const job::HostRules& rules) {
  if (!fs::path(question.path).is_absolute())
    return base::Error{base::Code::kInvalid, question.path + ": expected an absolute path"};
  const base::Result<base::FileRoots> roots = job::RootsOf(rules, question.owner);
  if (!roots) return roots.error();
  const base::Status rights = TakeRightsOf(question.owner, rules);
  if (!rights) return rights.error();
  base::Descriptor folder(::open(question.path.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!folder.open() && errno == ENOENT) return job::RemovalAnswer();
  if (!folder.open()) return base::OsError(question.path, errno);
  const base::Status within =
      base::CheckWithin(folder, question.path, base::FileUse::kWrite, *roots);
  if (!within) return within.error();
  const base::Status is_jobs = base::CheckNoSiteFolder(OpenedPath(folder));
  if (!is_jobs) return is_jobs.error();
  // A root itself stays: what holds it is no place for this job to write.
  return Removal(question, std::move(folder)).Run([&](const std::string& opened) {
    std::error_code error;
    const fs::path truth = fs::read_symlink(opened, error);
    return !error &&
           base::CheckWithin(truth.parent_path().string(), base::FileUse::kWrite, *roots).ok();
  });
}

}  // namespace trainctl::agent
