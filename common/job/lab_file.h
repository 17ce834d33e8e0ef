// A lab file as a tree: {"title", "base": {job}, "experiments": [{"name", "set", "expect"}]}. The
// title is the question: "notes" of all that have none. Used by job_json.cc.
#pragma once

#include <string>
#include <vector>

#include "common/job/bind_job.h"
#include "common/json/json_node.h"
#include "common/json/problem.h"

namespace trainctl::job {

// A file with one of a lab's keys is meant as a lab.
bool IsLab(const JsonNode& root);

// One experiment: the base with its "set", name and expectation laid over it.
struct Experiment {
  std::string path;  // "experiments[1]"
  int line = 0;
  JobBinder binder;
  bool own_output = false;  // it names an output.dir that is not the base's
};

// Problems of the lab's own keys and of the settings are appended. At most 256 experiments.
std::vector<Experiment> BindLab(const JsonNode& root, std::vector<Problem>* problems);

}  // namespace trainctl::job
