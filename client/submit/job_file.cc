#include "client/submit/job_file.h"

#include <filesystem>
#include <utility>

#include "client/show/format.h"
#include "common/base/did_you_mean.h"
#include "common/base/file.h"
#include "common/job/check_job.h"
#include "common/job/hub_id.h"
#include "common/job/job_json.h"

namespace trainctl::client {
namespace {

constexpr size_t kMaxJobFileBytes = 1 << 20;
constexpr char kStandardInput[] = "stdin";

std::string Absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path absolute = std::filesystem::absolute(path, error);
  return error ? path : absolute.lexically_normal().string();
}

bool IsThere(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::vector<job::Override> WithAbsolutePaths(std::vector<job::Override> overrides) {
  for (job::Override& override_ : overrides) {
    if (!job::IsPath(override_.key) || override_.value.empty() || override_.value == "null" ||
        job::IsOfShell(override_.value))
      continue;
    const std::string path = Absolute(override_.value);
    const bool is_hub_id = override_.key == "model.path" && job::IsHubId(override_.value);
    if (!is_hub_id || IsThere(path)) override_.value = path;
  }
  return overrides;
}

job::ReadJob Read(const std::string& text, const JobFileOptions& options, bool with_name) {
  const std::filesystem::path path = Absolute(options.path);
  job::ReadOptions read{.source = options.path,
                        .default_name = path.stem().string(),
                        .base_directory = path.parent_path().string(),
                        .is_there = IsThere,
                        .overrides = WithAbsolutePaths(options.overrides)};
  if (with_name) read.overrides.push_back({"name", options.name});
  return job::ReadJobFile(text, read);
}

base::Result<JobFile> PickExperiment(const job::LabSpec& lab, const JobFileOptions& options) {
  std::vector<std::string_view> names;
  for (const job::JobSpec& job : lab.experiments) {
    names.push_back(job.name);
    if (job.name != options.experiment) continue;
    JobFile file{.jobs = {job}, .notes = job::NotesOn(job)};
    if (!options.name.empty()) file.jobs.front().name = options.name;
    return file;
  }
  return base::Error{base::Code::kNotFound,
                     base::WithHint(options.path + ": no experiment '" + options.experiment + "'",
                                    base::DidYouMean(options.experiment, names),
                                    "there are " + Join(names, ", "))};
}

base::Result<std::string> ReadFileOf(const JobFileOptions& options) {
  base::Result<std::string> text = base::ReadFile(options.path, kMaxJobFileBytes);
  if (text.ok()) return text;
  const bool is_fault_of_file = text.error().code == base::Code::kExhausted;
  return base::Error{is_fault_of_file ? base::Code::kInvalid : text.error().code,
                     text.error().message};
}

}  // namespace

base::Result<JobFile> OpenJobFile(const JobFileOptions& options) {
  const base::Result<std::string> text = ReadFileOf(options);
  if (!text.ok()) return text.error();
  return ReadJobText(*text, options);
}

base::Result<std::string> ReadJobSource(std::istream& in, JobFileOptions* options) {
  if (options->path != "-") return ReadFileOf(*options);
  options->path = kStandardInput;
  std::string text(kMaxJobFileBytes + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  if (text.size() > kMaxJobFileBytes) {
    return base::Error{base::Code::kInvalid, options->path + ": more than " +
                                                 std::to_string(kMaxJobFileBytes) + " bytes"};
  }
  return text;
}

base::Result<JobFile> ReadJobText(const std::string& text, const JobFileOptions& options) {
  job::ReadJob read = Read(text, options, /*with_name=*/false);
  if (!options.name.empty() && !read.lab) read = Read(text, options, /*with_name=*/true);
  if (!read.problems.empty()) {
    const std::string count = read.problems.size() == 1
                                  ? "a problem"
                                  : std::to_string(read.problems.size()) + " problems";
    return base::Error{base::Code::kInvalid, count + " in " + options.path +
                                                 ", nothing was submitted\n" +
                                                 job::Format(read.problems, options.path)};
  }
  if (read.job && !options.experiment.empty()) {
    return base::Error{
        base::Code::kInvalid,
        options.path + " is no lab file, so it has no experiment '" + options.experiment + "'"};
  }
  if (read.job) return JobFile{.jobs = {std::move(*read.job)}, .notes = std::move(read.notes)};
  if (!options.experiment.empty()) return PickExperiment(*read.lab, options);
  return JobFile{.jobs = std::move(read.lab->experiments),
                 .is_lab = true,
                 .group_name = options.name.empty() ? read.lab->name : options.name,
                 .notes = std::move(read.notes)};
}

}  // namespace trainctl::client
