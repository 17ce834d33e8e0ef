#include "common/job/lab_file.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "common/base/did_you_mean.h"

namespace trainctl::job {
namespace {

using Type = JsonNode::Type;

constexpr size_t kMostExperiments = 256;
constexpr std::array<std::string_view, 4> kLabKeys = {"$schema", "title", "base", "experiments"};
constexpr std::array<std::string_view, 3> kExperimentKeys = {"name", "set", "expect"};

void RefuseUnknown(const JsonNode& object, const std::string& path,
                   std::span<const std::string_view> known, std::vector<Problem>* problems) {
  for (size_t i = 0; i < object.items.size(); ++i) {
    const std::string& key = object.keys[i];
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    const std::string place = path.empty() ? key : path + "." + key;
    const std::string what = path.empty() ? "\"title\", \"base\" and \"experiments\" of a lab file"
                                          : "a key of an experiment";
    problems->push_back(
        {place, object.items[i].line, "unknown key", what, base::DidYouMean(key, known)});
  }
}

const JsonNode* RequireMember(const JsonNode& object, const std::string& key, Type type,
                              const std::string& path, const char* expected,
                              std::vector<Problem>* problems) {
  const JsonNode* member = object.Find(key);
  if (member != nullptr && member->Is(type)) return member;
  const std::string place = path.empty() ? key : path + "." + key;
  problems->push_back({place, member == nullptr ? object.line : member->line,
                       member == nullptr ? "missing" : "", expected, ""});
  return nullptr;
}

Experiment BindExperiment(const JobBinder& base, const JsonNode& node, std::string path,
                          std::vector<Problem>* problems) {
  Experiment experiment{.path = path, .line = node.line, .binder = base};
  if (!node.Is(Type::kObject)) {
    problems->push_back({path, node.line, "", "an object with \"name\" and \"set\"", ""});
    return experiment;
  }
  RefuseUnknown(node, path, kExperimentKeys, problems);
  if (const JsonNode* set = node.Find("set"))
    experiment.binder.ApplyObject(*set, path + ".set", true, problems);
  if (const JsonNode* name =
          RequireMember(node, "name", Type::kString, path, "a string", problems)) {
    experiment.binder.ApplyValue("name", *name, path + ".name", problems);
  }
  if (const JsonNode* expect = node.Find("expect"))
    experiment.binder.ApplyValue("expect", *expect, path + ".expect", problems);
  experiment.own_output = experiment.binder.job().output.dir != base.job().output.dir;
  return experiment;
}

}  // namespace

bool IsLab(const JsonNode& root) {
  return root.Find("experiments") != nullptr || root.Find("base") != nullptr;
}

std::vector<Experiment> BindLab(const JsonNode& root, std::vector<Problem>* problems) {
  RefuseUnknown(root, "", kLabKeys, problems);
  JobBinder base;
  if (const JsonNode* title = root.Find("title"))
    base.ApplyValue("notes", *title, "title", problems);
  if (const JsonNode* object =
          RequireMember(root, "base", Type::kObject, "",
                        "an object: the job that the experiments share", problems)) {
    base.ApplyObject(*object, "base", false, problems);
  }
  std::vector<Experiment> experiments;
  const JsonNode* list =
      RequireMember(root, "experiments", Type::kArray, "", "a list of experiments", problems);
  if (list == nullptr) return experiments;
  if (list->items.empty() || list->items.size() > kMostExperiments) {
    problems->push_back({"experiments", list->line,
                         std::to_string(list->items.size()) + " experiments",
                         "1 to " + std::to_string(kMostExperiments), ""});
    return experiments;
  }
  for (size_t i = 0; i < list->items.size(); ++i) {
    experiments.push_back(
        BindExperiment(base, list->items[i], "experiments[" + std::to_string(i) + "]", problems));
  }
  return experiments;
}

}  // namespace trainctl::job
