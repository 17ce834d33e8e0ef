// Which job writes to which output.dir, of those that have not ended and of one submission. Two of
// them share no folder, whatever way its path is spelled, and none lies within another's: who
// writes or removes there would meet the other's files. Not thread-safe.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "common/job/job.h"
#include "common/json/problem.h"

namespace trainctl::job {

// Of folders in their one spelling (NormalFolder): this one, else one around it, else one within
// it. end(): there is none.
template <class Writer>
typename std::map<std::string, Writer>::const_iterator FindOverlap(
    const std::map<std::string, Writer>& folders, const std::string& folder) {
  for (std::filesystem::path around = folder;; around = around.parent_path()) {
    if (const auto found = folders.find(around.string()); found != folders.end()) return found;
    if (!around.has_relative_path()) break;
  }
  const std::string prefix = folder.ends_with('/') ? folder : folder + "/";
  const auto within = folders.lower_bound(prefix);
  return within != folders.end() && within->first.starts_with(prefix) ? within : folders.end();
}

class FolderClaims {
 public:
  struct Live {
    std::string folder;  // the one that overlaps
    std::string job;     // that writes there: "j7"
  };
  // The job that has not ended and whose folder overlaps this normal one (FindOverlap); nullopt:
  // there is none.
  using LiveWriter = std::function<std::optional<Live>(const std::string& folder)>;
  explicit FolderClaims(LiveWriter live) : live_(std::move(live)) {}

  // The job takes its folder. A problem: it overlaps another's. A job that writes nothing takes
  // none.
  std::optional<Problem> Claim(const JobSpec& job);

 private:
  const LiveWriter live_;
  std::map<std::string, std::string> writers_;  // of this submission: names, by folder
};

// What a LiveWriter says, of jobs by their folder. text: gives a job's id as text.
template <class Writer, class Text>
std::optional<FolderClaims::Live> FindLive(const std::map<std::string, Writer>& folders,
                                           const std::string& folder, Text text) {
  const auto found = FindOverlap(folders, folder);
  if (found == folders.end()) return std::nullopt;
  return FolderClaims::Live{found->first, text(found->second)};
}

}  // namespace trainctl::job
