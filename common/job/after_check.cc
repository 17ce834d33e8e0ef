#include "common/job/after_check.h"

#include <utility>

namespace trainctl::job {
namespace {

Problem Fault(const std::string& name, std::string expected, std::string hint) {
  return {"resources.after", 0, '"' + name + '"', std::move(expected), std::move(hint)};
}

}  // namespace

Problem NothingToFollow(const std::string& name) {
  return Fault(name, "a job of this site", "trainctl status lists them");
}

Problem NeverToFollow(const std::string& name, Outcome outcome) {
  return Fault(name, "a job that succeeded or has not ended",
               "it ended as " + std::string(Name(outcome)) +
                   ", so this job would never start; \"any\" takes every end");
}

bool MayFollow(After after, bool ended_ok) { return after == After::kAny || ended_ok; }

}  // namespace trainctl::job
