// Job and lab files ↔ structs. Strict: each of these is a problem with its place: unknown keys,
// duplicate keys, wrong types, overflow, invalid UTF-8, nesting beyond 64, files beyond 1 MiB.
// Includes the pure check of check_job.h: what comes back without problems is runnable in
// principle.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "common/job/job.h"
#include "common/json/problem.h"

namespace trainctl::job {

// One override: "train.micro_batch_size" = "8"; the text is typed by the schema ("null", "true",
// numbers, bare strings, JSON for lists).
struct Override {
  std::string key;
  std::string value;
};

// Whether the key's value is a path, which may be relative.
bool IsPath(std::string_view key);

// "~" or "~/…", which a shell has not put the home for.
bool IsOfShell(std::string_view path);

struct ReadOptions {
  std::string source = "job.json";   // shown in problems
  std::string default_name = "job";  // file stem
  std::string base_directory;  // absolute; relative paths in the file are relative to it. Empty:
                               // left as they are
  // Whether there is such a folder here. A model.path that is none, and has the form of a hub id
  // (hub_id.h), stays as it is. Empty: all are paths.
  std::function<bool(const std::string& path)> is_there = {};
  std::vector<Override>
      overrides;  // an override that names one of an exclusive pair clears the other
};

struct ReadJob {
  std::optional<JobSpec> job;  // exactly one of job, lab where problems is empty
  std::optional<LabSpec> lab;
  std::vector<Problem> problems;
  std::vector<std::string> notes;  // not errors: "warm-up (100 steps) is longer than the run"
};

// A file that has "base" and "experiments" is a lab file. Never throws.
ReadJob ReadJobFile(std::string_view text, const ReadOptions& options);

// Of jobs that are submitted together: output.dir becomes output.dir/<name>, one folder for each.
void WriteUnderOwnName(JobSpec* job);
// The folder that output.dir was before; nullopt: its last part is not the job's name.
std::optional<std::string> FolderAboveOwnName(const JobSpec& job);

// Canonical JSON: every key, in the schema's order; ReadJobFile reads it back to an equal job.
std::string ToJson(const JobSpec& job);

// Of canonical JSON that another process sent or a store kept: types and ranges only, so that what
// was accepted once stays readable. kInvalid lists the problems. Whoever accepts a job from outside
// calls CheckJob (check_job.h) on it too.
base::Result<JobSpec> FromJson(std::string_view text);

// The JSON Schema (draft 2020-12) of job and lab files, for editors. Made from the same table as
// the checker.
std::string JsonSchema();

// The settings of a job as dotted key → canonical text ("train.micro_batch_size" → "8"), in the
// schema's order: for compare and describe.
std::vector<std::pair<std::string, std::string>> Flatten(const JobSpec& job);

// Every key that such a setting may have, in the schema's order; those of sections that a job may
// leave out too. Not those that a user makes up, as tags.lab.
std::vector<std::string> SettingKeys();

}  // namespace trainctl::job
