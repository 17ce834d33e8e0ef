// Job and lab files, with overrides as a command line has them.
#include <algorithm>
#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"
#include "tests/fuzz/halves.h"
#include "tests/fuzz/targets.h"

namespace trainctl::fuzz {
namespace {

// "key=value", one a line.
std::vector<job::Override> OverridesOf(std::string_view text) {
  std::vector<job::Override> overrides;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    const size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    overrides.push_back(
        {std::string(line.substr(0, equals)), std::string(line.substr(equals + 1))});
  }
  return overrides;
}

void CheckRoundTrip(const job::JobSpec& spec) {
  const std::string text = job::ToJson(spec);
  const auto again = job::FromJson(text);
  CHECK(again.ok()) << text << ": " << again.error().message;
  CHECK(job::ToJson(*again) == text) << text;
  job::Flatten(spec);
  job::ToJson(job::ResolveJob(spec));
}

}  // namespace

bool ReadJob(std::string_view bytes) {
  const auto [file, overrides] = Halves(bytes);
  const job::ReadJob read =
      job::ReadJobFile(file, {.base_directory = "/home/anna", .overrides = OverridesOf(overrides)});
  job::Format(read.problems, "job.json");
  CHECK(!read.problems.empty() || read.job.has_value() != read.lab.has_value());
  if (read.job && read.problems.empty()) CheckRoundTrip(*read.job);
  if (read.lab && read.problems.empty()) {
    for (const job::JobSpec& experiment : read.lab->experiments) CheckRoundTrip(experiment);
  }
  const auto canonical = job::FromJson(file);
  if (canonical) job::Format(job::CheckJob(*canonical), "job.json");
  return read.problems.empty();
}

}  // namespace trainctl::fuzz
