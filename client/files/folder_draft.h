// A folder that appears whole or not at all: it is filled beside its place, as "<folder>.partial",
// and takes its place at the end. What a killed trainctl left under that name is cleared by the
// next one. Not thread-safe.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "common/base/result.h"

namespace trainctl::client {

class FolderDraft {
 public:
  // An empty marker: a folder that is not empty is never replaced. Else one that holds a file of
  // this name may be: an earlier call made it. kConflict: it is not empty and may not be replaced,
  // or another trainctl fills it now. kInvalid: the current folder, or no folder. kIo, kExhausted
  // as of the operating system, of every method; messages name the path.
  static base::Result<std::unique_ptr<FolderDraft>> Begin(const std::string& folder,
                                                          const std::string& marker);

  // Removes what was not committed.
  ~FolderDraft();
  FolderDraft(const FolderDraft&) = delete;
  FolderDraft& operator=(const FolderDraft&) = delete;

  // Appends to the file at the relative path. A missing file is made, with its folders.
  base::Status Append(const std::string& path, std::string_view text);

  // A folder at the relative path, with those above it, where it is missing.
  base::Status AddFolder(const std::string& path);

  // Syncs, and puts the folder in its place.
  base::Status Commit();

  const std::string& folder() const { return folder_; }                   // absolute
  const std::string& draft() const { return draft_; }                     // where it is filled
  const std::map<std::string, int64_t>& files() const { return files_; }  // bytes by relative path

 private:
  FolderDraft(std::string folder, std::string draft, int lock)
      : folder_(std::move(folder)), draft_(std::move(draft)), lock_(lock) {}
  base::Status TakePlace();

  const std::string folder_, draft_;
  const int lock_;  // descriptor of the draft's folder
  bool committed_ = false;
  std::map<std::string, int64_t> files_;
};

}  // namespace trainctl::client
