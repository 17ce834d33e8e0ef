// exit.json as a shim leaves it, and what the coordinator is told of it.
#include <string>
#include <variant>

#include "common/base/check.h"
#include "tests/fuzz/scratch_file.h"
#include "tests/fuzz/targets.h"
#include "worker/agent/rank_records.h"

namespace trainctl::fuzz {

bool ReadExitRecord(std::string_view bytes) {
  static const ScratchFolder folder;
  const auto record = agent::ParseExitRecord(std::string(bytes));
  if (!record) return false;
  const job::ReportBody report = agent::ToReport(*record, folder.path());
  const auto* exit = std::get_if<job::RankExit>(&report);
  CHECK(exit == nullptr || exit->exit_code || exit->signal);
  CHECK(exit != nullptr || !record->launch_error.empty());
  return true;
}

}  // namespace trainctl::fuzz
