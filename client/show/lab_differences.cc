#include "client/show/lab_differences.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "common/job/batch.h"
#include "common/job/check_job.h"
#include "common/job/job_json.h"

namespace trainctl::client {
namespace {

constexpr std::string_view kOfNoMatter[] = {"version", "name",   "notes",     "expect",
                                            "tags",    "output", "resources", "model.revision"};
constexpr std::string_view kMemoryLimit = "resources.gpu_memory_limit";  // as of a smaller device

bool Matters(std::string_view key) {
  return key == kMemoryLimit || std::ranges::none_of(kOfNoMatter, [key](std::string_view section) {
           return key.starts_with(section) &&
                  (key.size() == section.size() || key[section.size()] == '.');
         });
}

std::string LastPart(const std::string& path) {
  const std::string trimmed = path.substr(0, path.find_last_not_of('/') + 1);
  return trimmed.substr(trimmed.rfind('/') + 1);
}

// The batch as it works out, whichever of its keys a file names.
std::map<std::string, std::string> SettingsThatMatter(const job::JobSpec& job) {
  job::JobSpec resolved = job::ResolveJob(job);
  if (const auto batch = job::PlanBatch(resolved); batch.ok()) {
    resolved.train.global_batch_size = batch->global;
    resolved.train.accumulate_grad_batches = batch->accumulation;
  }
  std::map<std::string, std::string> settings;
  for (const auto& [key, value] : job::Flatten(resolved)) {
    if (Matters(key)) settings[key] = key.ends_with("path") ? LastPart(value) : value;
  }
  return settings;
}

}  // namespace

std::vector<std::string> DifferencesFromLab(const job::JobSpec& lab, const job::JobSpec& run) {
  std::map<std::string, std::string> wanted = SettingsThatMatter(lab),
                                     had = SettingsThatMatter(run);
  if (!lab.train.micro_batch_size) {
    for (const char* key : {"train.micro_batch_size", "train.accumulate_grad_batches"}) {
      wanted.erase(key);
      had.erase(key);
    }
  }
  std::vector<std::string> differences;
  for (const auto& [key, value] : had) {
    const auto known = wanted.find(key);
    if (known == wanted.end() || known->second != value) differences.push_back(key + " " + value);
  }
  for (const auto& [key, value] : wanted) {
    if (!had.contains(key) && value != "null") differences.push_back(key + " null");
  }
  return differences;
}

}  // namespace trainctl::client
