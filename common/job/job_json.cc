#include "common/job/job_json.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "common/base/utf8.h"
#include "common/job/bind_job.h"
#include "common/job/check_job.h"
#include "common/job/hub_id.h"
#include "common/job/job_node.h"
#include "common/job/known_keys.h"
#include "common/job/lab_file.h"
#include "common/job/schema.h"
#include "common/json/read_json.h"
#include "common/json/write_json.h"

namespace trainctl::job {
namespace {

using Type = JsonNode::Type;

std::string MakeAbsolute(const std::string& path, const std::string& base_directory) {
  if (base_directory.empty() || path.empty() || IsOfShell(path)) return path;
  return (std::filesystem::path(base_directory) / path).lexically_normal().string();
}

std::string* PointerTo(std::optional<std::string>& path) { return path ? &*path : nullptr; }

struct PathSetting {
  std::string_view key;
  std::string* (*find)(JobSpec&);  // nullptr: the job has none
};
constexpr PathSetting kPathSettings[] = {
    {"model.path", [](JobSpec& job) { return &job.model.path; }},
    {"data.path", [](JobSpec& job) { return &job.data.path; }},
    {"data.val_path", [](JobSpec& job) { return PointerTo(job.data.val_path); }},
    {"output.dir", [](JobSpec& job) { return PointerTo(job.output.dir); }},
    {"checkpoint.resume_from", [](JobSpec& job) { return PointerTo(job.checkpoint.resume_from); }},
};

void MakePathsAbsolute(JobSpec& job, const ReadOptions& options) {
  const std::string model = job.model.path;
  for (const PathSetting& setting : kPathSettings) {
    if (std::string* path = setting.find(job)) *path = MakeAbsolute(*path, options.base_directory);
  }
  for (std::string& image : job.eval.images) image = MakeAbsolute(image, options.base_directory);
  if (options.is_there && IsHubId(model) && !options.is_there(job.model.path))
    job.model.path = model;
}

// No program but a shell knows whose home that is; a folder named ~ is easily removed with it.
std::vector<Problem> FindTildes(JobSpec& job) {
  std::vector<Problem> problems;
  for (const PathSetting& setting : kPathSettings) {
    const std::string* path = setting.find(job);
    if (path == nullptr || !IsOfShell(*path)) continue;
    problems.push_back({std::string(setting.key), 0, '"' + *path + '"',
                        "a path from /, or one relative to the job file",
                        "a shell puts your home for ~ only at the begin of an unquoted word"});
  }
  return problems;
}

// Lays the overrides over what the file said, and checks the whole. What the check finds comes back
// with its place.
std::vector<Problem> Complete(JobBinder& binder, const ReadOptions& options,
                              std::vector<Problem>* problems) {
  binder.ApplyOverrides(options.overrides, problems);
  binder.RequireAll(problems);
  if (!binder.IsSet("name")) binder.job().name = options.default_name;
  if (!binder.IsSet("data.mask_prompt"))
    binder.job().data.mask_prompt = MasksPrompts(binder.job().data.format);
  MakePathsAbsolute(binder.job(), options);
  std::vector<Problem> found = FindTildes(binder.job()), located;
  std::ranges::move(CheckJob(binder.job()), std::back_inserter(found));
  for (Problem& problem : found) {
    if (auto with_place = binder.Locate(std::move(problem)))
      located.push_back(std::move(*with_place));
  }
  return located;
}

bool IsSame(const Problem& a, const Problem& b) {
  return a.path == b.path && a.line == b.line && a.value == b.value && a.expected == b.expected &&
         a.hint == b.hint;
}

// Of an experiments' problem: one that stands in the base of all is said once; one that only some
// have says which.
void AddProblemsOfExperiments(const std::vector<Experiment>& experiments,
                              std::vector<std::vector<Problem>> found,
                              std::vector<Problem>* problems) {
  const auto has = [](const std::vector<Problem>& list, const Problem& problem) {
    return std::any_of(list.begin(), list.end(),
                       [&](const Problem& other) { return IsSame(problem, other); });
  };
  const auto everywhere = [&](const Problem& problem) {
    return std::all_of(found.begin(), found.end(),
                       [&](const auto& list) { return has(list, problem); });
  };
  for (size_t i = 0; i < found.size(); ++i) {
    for (Problem problem : found[i]) {
      const bool shared = everywhere(problem);
      if (shared && i > 0) continue;
      if (!shared && !problem.path.starts_with(experiments[i].path)) {
        problem.hint += (problem.hint.empty() ? "" : "; ") + ("in " + experiments[i].path);
      }
      problems->push_back(std::move(problem));
    }
  }
}

void RefuseEqualNames(const std::vector<Experiment>& experiments, std::vector<Problem>* problems) {
  std::map<std::string, std::string> first;  // by name, the path that had it first
  for (const Experiment& experiment : experiments) {
    if (!experiment.binder.IsSet("name")) continue;
    const std::string& name = experiment.binder.job().name;
    const auto [known, is_new] = first.try_emplace(name, experiment.path);
    if (!is_new) {
      problems->push_back({experiment.path + ".name", experiment.line, name, "a name of its own",
                           known->second + " has it too"});
    }
  }
}

// What all experiments share is said once.
std::vector<std::string> NotesOnLab(const LabSpec& lab) {
  std::map<std::string, std::vector<std::string>> names;  // by note
  for (const JobSpec& job : lab.experiments) {
    for (const std::string& note : NotesOn(job)) names[note].push_back(job.name);
  }
  std::vector<std::string> notes;
  for (const auto& [note, experiments] : names) {
    if (experiments.size() == lab.experiments.size())
      notes.push_back(note);
    else
      for (const std::string& name : experiments) notes.push_back(name + ": " + note);
  }
  return notes;
}

void ReadOneJob(const JsonNode& root, const ReadOptions& options, ReadJob* result) {
  JobBinder binder;
  binder.ApplyObject(root, "", false, &result->problems);
  if (!root.Is(Type::kObject)) return;
  for (Problem& problem : Complete(binder, options, &result->problems))
    result->problems.push_back(std::move(problem));
  if (!result->problems.empty()) return;
  result->notes = NotesOn(binder.job());
  result->job = binder.job();
}

void ReadLab(const JsonNode& root, const ReadOptions& options, ReadJob* result) {
  std::vector<Experiment> experiments = BindLab(root, &result->problems);
  std::vector<std::vector<Problem>> found(experiments.size());
  for (size_t i = 0; i < experiments.size(); ++i) {
    std::vector<Problem> bound;
    std::vector<Problem> checked = Complete(experiments[i].binder, options, &bound);
    found[i] = std::move(bound);
    found[i].insert(found[i].end(), std::make_move_iterator(checked.begin()),
                    std::make_move_iterator(checked.end()));
  }
  AddProblemsOfExperiments(experiments, std::move(found), &result->problems);
  RefuseEqualNames(experiments, &result->problems);
  if (!result->problems.empty()) return;
  LabSpec lab{.name = options.default_name};
  const bool overridden = std::ranges::any_of(
      options.overrides, [](const Override& one) { return one.key == "output.dir"; });
  for (const Experiment& experiment : experiments) {
    JobSpec& job = lab.experiments.emplace_back(experiment.binder.job());
    if (overridden || !experiment.own_output) WriteUnderOwnName(&job);
  }
  result->notes = NotesOnLab(lab);
  result->lab = std::move(lab);
}

// The object of a key's section within the tree, made where it is not there.
JsonNode& SectionNode(JsonNode& root, const Section* section) {
  if (section == nullptr) return root;
  if (root.Find(section->key) == nullptr) root.Add(section->key, JsonNode::Object());
  return *root.Find(section->key);
}

// As people write it in an override: strings bare.
std::string Spell(const JsonNode& node) {
  return node.Is(Type::kString) ? node.text : WriteJson(node);
}

}  // namespace

bool IsOfShell(std::string_view path) { return path == "~" || path.starts_with("~/"); }

bool IsPath(std::string_view key) {
  return std::ranges::find(kPathSettings, key, &PathSetting::key) != std::end(kPathSettings);
}

ReadJob ReadJobFile(std::string_view text, const ReadOptions& options) {
  ReadJob result;
  JsonText json = ReadJson(text);
  result.problems = std::move(json.problems);
  if (!json.root) return result;
  if (IsLab(*json.root))
    ReadLab(*json.root, options, &result);
  else
    ReadOneJob(*json.root, options, &result);
  std::stable_sort(result.problems.begin(), result.problems.end(),
                   [](const Problem& a, const Problem& b) { return a.line < b.line; });
  return result;
}

void WriteUnderOwnName(JobSpec* job) {
  if (job->output.dir) *job->output.dir += "/" + job->name;
}

std::optional<std::string> FolderAboveOwnName(const JobSpec& job) {
  const std::string own = "/" + job.name;
  if (!job.output.dir || !job.output.dir->ends_with(own)) return std::nullopt;
  return job.output.dir->substr(0, job.output.dir->size() - own.size());
}

JsonNode ToNode(const JobSpec& job) {
  JsonNode root = JsonNode::Object();
  for (const Field& field : Fields()) {
    const Section* section = SectionOf(field.key);
    if (section == nullptr || section->IsPresent(job)) {
      SectionNode(root, section).Add(std::string(LastPart(field.key)), field.write(job));
    } else if (root.Find(section->key) == nullptr) {
      root.Add(section->key, JsonNode());
    }
  }
  return root;
}

std::string ToJson(const JobSpec& job) { return WriteJson(ToNode(job)); }

base::Result<JobSpec> FromNode(const JsonNode& root) {
  if (auto job = FromKnownKeys(root)) return std::move(*job);
  std::vector<Problem> problems;
  JobBinder binder;
  binder.ApplyObject(root, "", false, &problems);
  binder.RequireAll(&problems);
  if (!problems.empty()) return base::Error{base::Code::kInvalid, Format(problems, "job")};
  return binder.job();
}

base::Result<JobSpec> FromJson(std::string_view text) {
  const JsonText json = ReadJson(text);
  if (!json.problems.empty())
    return base::Error{base::Code::kInvalid, Format(json.problems, "job")};
  return FromNode(*json.root);
}

std::vector<std::pair<std::string, std::string>> Flatten(const JobSpec& job) {
  std::vector<std::pair<std::string, std::string>> settings;
  const Section* absent = nullptr;
  for (const Field& field : Fields()) {
    const Section* section = SectionOf(field.key);
    if (section != nullptr && !section->IsPresent(job)) {
      if (section != absent) settings.emplace_back(section->key, "null");
      absent = section;
      continue;
    }
    const JsonNode value = field.write(job);
    if (!field.is_map) settings.emplace_back(field.key, Spell(value));
    for (size_t i = 0; field.is_map && i < value.items.size(); ++i) {
      settings.emplace_back(field.key + "." + value.keys[i], Spell(value.items[i]));
    }
  }
  return settings;
}

std::vector<std::string> SettingKeys() {
  std::vector<std::string> keys;
  for (const Field& field : Fields()) {
    if (!field.is_map) keys.push_back(field.key);
  }
  return keys;
}

}  // namespace trainctl::job
