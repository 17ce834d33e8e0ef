#include "common/rank/run_names.h"

#include "common/base/parse_number.h"

namespace trainctl::job {
namespace {

constexpr std::string_view kCurves = "events.out.tfevents.";
constexpr std::string_view kSharedMark = ".seen-by-all.";
constexpr std::string_view kTrace = "rank-";
constexpr std::string_view kDraftSuffix = ".tmp";  // as base::WriteFileAtomically's, and Kineto's
constexpr std::string_view kResultRecord = ".saved";

// Takes the text off the front.
bool Take(std::string_view text, std::string_view* name) {
  const bool is_there = name->starts_with(text);
  if (is_there) name->remove_prefix(text.size());
  return is_there;
}

// Takes a number off the front, which ends before `behind`.
bool TakeNumber(char behind, std::string_view* name) {
  const size_t end = name->find(behind);
  if (end == std::string_view::npos || !base::ParseNumber(name->substr(0, end))) return false;
  name->remove_prefix(end + 1);
  return true;
}

// Takes the text off the back.
bool TakeBack(std::string_view text, std::string_view* name) {
  const bool is_there = name->ends_with(text);
  if (is_there) name->remove_suffix(text.size());
  return is_there;
}

// "j12.1" → true: the tag of an attempt of j12.
bool IsTagOf(std::string_view tag, std::string_view job) {
  return Take(job, &tag) && Take(".", &tag) && base::ParseNumber(tag).has_value();
}

}  // namespace

std::string AttemptTag(std::string_view job, int64_t attempt) {
  return std::string(job) + "." + std::to_string(attempt);
}

std::optional<int64_t> CheckpointStep(std::string_view name) {
  return Take(kCheckpointPrefix, &name) ? base::ParseNumber(name) : std::nullopt;
}

bool IsDoomedCheckpoint(std::string_view name) {
  return TakeBack(kRemovingSuffix, &name) && CheckpointStep(name);
}

std::string UnfinishedCheckpoint(int64_t step, const std::string& tag) {
  return std::string(kCheckpointPrefix) + std::to_string(step) + "." + tag +
         std::string(kWritingSuffix);
}

bool IsUnfinishedCheckpointOf(std::string_view name, std::string_view job) {
  TakeBack(kRemovingSuffix, &name);
  return TakeBack(kWritingSuffix, &name) && Take(kCheckpointPrefix, &name) &&
         TakeNumber('.', &name) && IsTagOf(name, job);
}

std::string SharedFolderMark(const std::string& tag) { return std::string(kSharedMark) + tag; }

bool IsSharedFolderMarkOf(std::string_view name, std::string_view job) {
  if (!Take(kSharedMark, &name)) return false;
  if (!TakeBack(kDraftSuffix, &name)) return IsTagOf(name, job);
  for (int i = 0; i < 2; ++i) name = name.substr(0, name.rfind('.'));  // process and number
  return IsTagOf(name, job);
}

std::string CurvesFile(int64_t at_seconds, const std::string& job, int64_t attempt) {
  return std::string(kCurves) + std::to_string(at_seconds) + "." + job + "-" +
         std::to_string(attempt);
}

bool IsCurvesFileOf(std::string_view name, std::string_view job) {
  return Take(kCurves, &name) && TakeNumber('.', &name) && Take(job, &name) && Take("-", &name) &&
         base::ParseNumber(name).has_value();
}

std::string TraceFile(int64_t rank) { return std::string(kTrace) + std::to_string(rank) + ".json"; }

std::string Draft(const std::string& path) { return path + std::string(kDraftSuffix); }

bool IsTraceDraft(std::string_view name) {
  if (!TakeBack(kDraftSuffix, &name)) return false;
  TakeBack(kDraftSuffix, &name);
  return TakeBack(".json", &name) && Take(kTrace, &name) && base::ParseNumber(name).has_value();
}

std::string OwnedPrefix(std::string_view site, std::string_view job) {
  return std::string(site) + "." + std::string(job) + ".";
}

std::string OwnerDraft(std::string_view site, std::string_view job, int64_t attempt) {
  return OwnedPrefix(site, job) + std::to_string(attempt) + ".draft";
}

std::string UnfinishedResult(std::string_view site, std::string_view job, int64_t attempt) {
  return OwnedPrefix(site, job) + std::to_string(attempt) + std::string(kWritingSuffix);
}

std::string ResultRecord(std::string_view site, std::string_view job, int64_t attempt) {
  return OwnedPrefix(site, job) + std::to_string(attempt) + std::string(kResultRecord);
}

bool IsResultRecordOf(std::string_view name, std::string_view site, std::string_view job) {
  return Take(OwnedPrefix(site, job), &name) && TakeBack(kResultRecord, &name) &&
         base::ParseNumber(name).has_value();
}

}  // namespace trainctl::job
