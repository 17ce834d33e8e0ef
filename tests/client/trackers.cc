#include "tests/client/trackers.h"

#include <filesystem>

#include "client/run_program.h"
#include "tests/checkout.h"

namespace trainctl::client {

std::string TrackersPython() {
  const auto printed = RunToEnd({checkout::File("tests/oracles"), "--print", "trackers"}, "");
  if (!printed.ok() || printed->exit_code != 0) return "";
  const std::string python = printed->out.substr(0, printed->out.find('\n'));
  const auto folder = std::filesystem::path(python).parent_path().parent_path();
  return std::filesystem::exists(folder / "complete") ? python : "";
}

std::string PrintedBy(const std::string& python, const std::string& script,
                      const std::string& folder) {
  const auto run = RunToEnd({python, "-B", checkout::File("tests/client/" + script), folder}, "");
  return run.ok() ? run->out : run.error().message;
}

}  // namespace trainctl::client
