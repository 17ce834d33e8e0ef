// Whose an output.dir is. A folder belongs to the one job that writes there. Rank 0 takes it before
// anything is written, by an owner file that is made atomically. Of two jobs, of whatever
// coordinators, one is refused.
//
//   <output.dir>/.trainctl/owner-<n>.json   {"site", "job", "name"}
//
// The highest n is the owner. An owner file is never changed: who goes on in the folder of an ended
// job makes the next one. Thread-safe.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"
#include "common/json/problem.h"

namespace trainctl::job {

struct FolderOwner {
  std::string site;  // of the coordinator that gave the job its id
  std::string job;   // "j12"
  std::string name;  // of the job
};

// The members of its JSON (json_fields.h).
inline constexpr auto kOwnerFields = [](auto& fields, auto& owner) {
  fields.Member("site", owner.site);
  fields.Member("job", owner.job);
  fields.Member("name", owner.name);
};

// A job's folder around or within one that another job is to write to.
struct OverlappingFolder {
  std::string path;
  FolderOwner owner;
  std::string contents;  // as OutputFolder's
};

// What lies in a folder that a job is to write to.
struct OutputFolder {
  std::optional<FolderOwner> owner;
  int64_t claims = 0;    // the owner's number; 0: none
  std::string contents;  // a name that a run has written there: "checkpoints"; empty: none
  std::optional<int64_t> free_bytes;  // of its disk, when it was looked at
  std::vector<OverlappingFolder> overlaps = {};
};

// Who is to write to a folder.
struct Claimant {
  std::string site;                     // of its coordinator
  std::string job_id;                   // empty: it has none yet
  std::vector<std::string> ended_jobs;  // of that site, that are known to have ended
};

// The job writes a model, checkpoints or a trace.
bool WritesOutput(const JobSpec& job);

// One spelling for all paths of a folder; links are not followed.
std::string NormalFolder(const std::string& path);
// Whether the path is the folder or lies in it by its name, each in its one spelling.
bool LiesIn(const std::string& path, const std::string& folder);
// The output.dir of a model, of a checkpoint or of the folder of checkpoints: the nearest folder
// from there on that has an owner; the path itself where none has.
std::string FindOwnedFolder(const std::string& path);
std::string OwnerFolder(const std::string& output_dir);
std::string OwnerPath(const std::string& output_dir, int64_t claim);
std::string ToJson(const FolderOwner& owner);

// "it belongs to j12 (tiny)", and what helps in any case.
std::string OwnerText(const FolderOwner& owner);
inline constexpr const char* kOtherFolder = "name another folder, as with --output.dir DIR";

// The owner's number; 0: there is none, or no folder. kIo.
base::Result<int64_t> CountClaims(const std::string& output_dir);
// A folder that is not there is empty. kIo: it can't be read. kInvalid: its owner file is damaged.
base::Result<OutputFolder> ReadOutputFolder(const std::string& output_dir);
// As well, with folders of jobs around it at any distance, and within it a few levels deep. At most
// 16 of them, and thousands of entries are looked at. What can't be read is passed over.
base::Result<OutputFolder> ReadWithOverlaps(const std::string& output_dir);

// Whether the owner's end alone makes the folder free for the job.
bool IsFreeOnceEnded(const JobSpec& job, const OutputFolder& folder);
// Why the job may not write to its output.dir, which looks like this. No problem where the folder
// is its own, or empty and nobody's. An ended job's is free where it is resumed, or has written
// nothing there. The same holds of folders around and within one that it takes anew: whoever copies
// or removes the outer one means one job's.
std::optional<Problem> CheckOutputFolder(const JobSpec& job, const OutputFolder& folder,
                                         const Claimant& claimant);

}  // namespace trainctl::job
