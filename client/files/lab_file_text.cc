#include "client/files/lab_file_text.h"

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

}  // namespace

std::string LabFileText(const std::vector<job::JobSpec>& jobs) {
  Json lab = {{"base", nullptr}, {"experiments", Json::array()}};
  for (const job::JobSpec& job : jobs) {
    Json spec = Json::parse(job::ToJson(job));
    spec.erase("name");
    if (lab["base"].is_null()) lab["base"] = spec;
    Json set = Json::object();
    AddDifferences("", lab["base"], spec, &set);
    lab["experiments"].push_back({{"name", job.name}, {"set", set}});
  }
  return lab.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace trainctl::client
