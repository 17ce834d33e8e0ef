#include "common/base/saved_folder.h"

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <sstream>

#include "common/base/boot_id.h"
#include "common/base/error_number.h"
#include "common/base/file.h"

namespace trainctl::base {
namespace {

namespace fs = std::filesystem;

int64_t ModifiedNs(const struct stat& status) {
  return status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec;
}

SavedFile Describe(std::string path, const struct stat& status) {
  return {std::move(path), status.st_size, status.st_ino, ModifiedNs(status)};
}

Result<std::vector<SavedFile>> Walk(const std::string& folder) {
  std::vector<SavedFile> files;
  std::error_code error;
  for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    struct stat status{};
    if (SkipCheckpoints(at) || ::lstat(at->path().c_str(), &status) != 0 ||
        !S_ISREG(status.st_mode))
      continue;
    files.push_back(Describe(at->path().lexically_relative(folder).string(), status));
    if (files.size() > kMaxSavedFiles)
      return Error{Code::kExhausted,
                   folder + " has more than " + std::to_string(kMaxSavedFiles) + " files"};
  }
  if (error) return OsError(folder, error.value());
  std::ranges::sort(files, {}, &SavedFile::path);
  return files;
}

}  // namespace

bool SavedFile::IsOf(const struct stat& status) const {
  return S_ISREG(status.st_mode) && status.st_ino == inode && status.st_size == bytes &&
         (modified_ns == 0 || modified_ns == ModifiedNs(status));
}

bool SavedRecord::IsOf(const struct stat& status) const {
  return status.st_ino == inode && (status.st_dev == device || boot_id != BootId());
}

const SavedFile* SavedRecord::Find(std::string_view path) const {
  const auto found = std::ranges::find(files, path, &SavedFile::path);
  return found == files.end() ? nullptr : &*found;
}

int64_t SavedRecord::Bytes() const {
  return std::accumulate(files.begin(), files.end(), int64_t{0},
                         [](int64_t sum, const SavedFile& file) { return sum + file.bytes; });
}

Result<SavedRecord> RecordSaved(const std::string& path) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return OsError(path, errno);
  Result<std::vector<SavedFile>> files =
      S_ISREG(status.st_mode)
          ? std::vector<SavedFile>{Describe(fs::path(path).filename().string(), status)}
          : Walk(path);
  if (!files) return files.error();
  std::erase_if(*files,
                [](const SavedFile& file) { return file.path.find('\n') != std::string::npos; });
  SavedRecord record{status.st_dev, status.st_ino, BootId(), std::move(*files)};
  if (ToText(record).size() > kMaxRecordBytes)
    return Error{Code::kExhausted, path + ": the names of its files are too long to record"};
  return record;
}

std::string ToText(const SavedRecord& record) {
  std::string text = "folder " + std::to_string(record.device) + " " +
                     std::to_string(record.inode) + " " + record.boot_id + "\n";
  for (const SavedFile& file : record.files)
    text += "saved " + std::to_string(file.bytes) + " " + std::to_string(file.inode) + " " +
            std::to_string(file.modified_ns) + " " + file.path + "\n";
  return text;
}

Result<SavedRecord> ParseSavedRecord(std::string_view text) {
  std::istringstream lines{std::string(text)};
  SavedRecord record;
  std::string line, word;
  std::getline(lines, line);
  std::istringstream first(line);
  if (!(first >> word >> record.device >> record.inode >> record.boot_id) || word != "folder")
    return Error{Code::kInvalid, "no record of a saved folder"};
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    SavedFile& file = record.files.emplace_back();
    fields >> word >> file.bytes >> file.inode;
    if (word == "saved") fields >> file.modified_ns;
    const bool is_known = word == "saved" || word == "file";
    if (!fields || !is_known || fields.get() != ' ' || !std::getline(fields, file.path))
      return Error{Code::kInvalid, "no record of a saved folder: '" + line.substr(0, 128) + "'"};
  }
  return record;
}

}  // namespace trainctl::base
