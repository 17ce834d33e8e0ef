// Names of what an attempt writes in its output.dir without recording it. Those that writes it and
// those that removes it (worker/agent/output_remover.h) have them from here. Most say whose it is,
// by the attempt's tag "j12.1".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace trainctl::job {

inline constexpr std::string_view kCheckpointPrefix = "step-";  // of a checkpoint's folder
inline constexpr std::string_view kWritingSuffix = ".writing";
inline constexpr std::string_view kRemovingSuffix = ".removing";  // behind any other name
inline constexpr std::string_view kDamagedSuffix = ".damaged";    // behind a checkpoint's

std::string AttemptTag(std::string_view job, int64_t attempt);

// "step-8" → 8; nullopt: no checkpoint has this name.
std::optional<int64_t> CheckpointStep(std::string_view name);
// "step-8.removing", of any job's: what is left of it serves nobody.
bool IsDoomedCheckpoint(std::string_view name);
// A checkpoint before it is whole: "step-8.j12.1.writing".
std::string UnfinishedCheckpoint(int64_t step, const std::string& tag);
// Whether it is one of this job's, also one that is being removed.
bool IsUnfinishedCheckpointOf(std::string_view name, std::string_view job);

// Beside checkpoints, for a moment: by it hosts see whether they share the folder.
std::string SharedFolderMark(const std::string& tag);
// Also while it is written.
bool IsSharedFolderMarkOf(std::string_view name, std::string_view job);

// Curves for TensorBoard, which knows its files by the beginning of the name, and reads them in its
// order: "events.out.tfevents.1764100000.j12-1".
std::string CurvesFile(int64_t at_seconds, const std::string& job, int64_t attempt);
bool IsCurvesFileOf(std::string_view name, std::string_view job);

// A trace of steps, "rank-0.json", and where it is written. Kineto makes its own draft of that.
std::string TraceFile(int64_t rank);
std::string Draft(const std::string& path);
// Of any job's trace.
bool IsTraceDraft(std::string_view name);

// In the owner folder (common/job/output_folder.h) all names of the job's attempts begin so, but
// that of its owner file.
std::string OwnedPrefix(std::string_view site, std::string_view job);
// An owner file before it is one.
std::string OwnerDraft(std::string_view site, std::string_view job, int64_t attempt);
// The folder of what a run leaves at its end, before it is whole.
std::string UnfinishedResult(std::string_view site, std::string_view job, int64_t attempt);
// The record (common/base/saved_folder.h) of its files, made before the first gets its place. By it
// they are known though the run was killed before it could tell of them.
std::string ResultRecord(std::string_view site, std::string_view job, int64_t attempt);
bool IsResultRecordOf(std::string_view name, std::string_view site, std::string_view job);

}  // namespace trainctl::job
