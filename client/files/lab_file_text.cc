#include "client/files/lab_file_text.h"

#include <optional>

#include "client/show/output.h"
#include "common/job/job_json.h"

namespace trainctl::client {
namespace {

// The members of a section that differ, by dotted key; the section as a whole where one of the two
// is null.
void AddDifferences(const std::string& key, const Json& base, const Json& value, Json* set) {
  if (base == value) return;
  const bool is_map_of_the_users = key == "tags" || key.ends_with(".constraints");
  if (is_map_of_the_users || !base.is_object() || !value.is_object()) {
    (*set)[key] = value;
    return;
  }
  for (const auto& [name, member] : value.items())
    AddDifferences(key.empty() ? name : key + "." + name, base.at(name), member, set);
}

// The folder of which each job has the part of its own name.
std::optional<std::string> CommonFolder(const std::vector<job::JobSpec>& jobs) {
  std::optional<std::string> common;
  for (const job::JobSpec& job : jobs) {
    const std::optional<std::string> folder = job::FolderAboveOwnName(job);
    if (!folder || folder->empty() || (common && folder != common)) return std::nullopt;
    common = folder;
  }
  return common;
}

}  // namespace

std::string LabFileText(const std::vector<job::JobSpec>& jobs) {
  Json lab = {{"base", nullptr}, {"experiments", Json::array()}};
  const std::optional<std::string> folder = CommonFolder(jobs);
  for (const job::JobSpec& job : jobs) {
    Json spec = Json::parse(job::ToJson(job));
    spec.erase("name");
    if (folder) spec["output"]["dir"] = *folder;
    if (lab["base"].is_null()) {
      lab["base"] = spec;
      if (!folder) lab["base"]["output"]["dir"] = nullptr;  // each "set" names its own
    }
    Json set = Json::object();
    AddDifferences("", lab["base"], spec, &set);
    lab["experiments"].push_back({{"name", job.name}, {"set", set}});
  }
  return lab.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace trainctl::client
