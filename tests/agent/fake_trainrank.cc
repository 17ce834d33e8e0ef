// A trainrank that does what the job's "notes" say (tests/shim/rank_script.h), started as the real
// one is. With --inspect it stands for trainworker, and "print …" in the notes is its answer.
#include <iostream>
#include <iterator>
#include <string>

#include "common/base/file.h"
#include "common/job/job_json.h"
#include "common/rank/rank_json.h"
#include "tests/shim/rank_script.h"

int main(int argc, char** argv) {
  using namespace trainctl;
  const std::string first = argc > 1 ? argv[1] : "";
  if (first == "--inspect") {
    const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
    const auto job = job::FromJson(text);
    if (!job) std::cerr << job.error().message << std::endl;
    return job ? tests::RunRankScript(job->notes) : 2;
  }
  const bool as_the_shim_does =
      argc == 7 && first == "--plan" && std::string(argv[3]) == "--messages-fd" &&
      std::string(argv[4]) == "3" && std::string(argv[5]) == "--commands-fd" &&
      std::string(argv[6]) == "4";
  if (!as_the_shim_does) return 64;
  const auto text = base::ReadFile(argv[2], 1 << 20);
  const auto plan = text ? job::RankPlanFromJson(*text) : base::Result<job::RankPlan>(text.error());
  if (!plan) {
    std::cerr << plan.error().message << std::endl;
    return 65;
  }
  return tests::RunRankScript(plan->job.notes);
}
