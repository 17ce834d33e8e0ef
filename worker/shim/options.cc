#include "worker/shim/options.h"

#include <cmath>
#include <cstdlib>
#include <optional>
#include <string_view>

#include "common/base/size.h"
#include "common/base/version.h"

namespace trainctl::shim {
namespace {

constexpr char kHelp[] =
    R"(trainshim keeps one rank: starts it, owns its log and messages, and proves that its whole process tree is gone.
trainworker starts it; a restarted trainworker finds it again by its folder. By hand:

  mkdir /tmp/rank && trainshim --dir /tmp/rank -- trainrank --plan /tmp/rank/plan.json --messages-fd 3 --commands-fd 4
  cat /tmp/rank/rank.log.* /tmp/rank/exit.json

Usage: trainshim --dir DIR [options] -- COMMAND ARGS…

COMMAND runs with stdout and stderr into the log, messages out on descriptor 3 and commands in on descriptor 4. It dies with the shim.

Options
  --dir DIR            the rank's folder; it must be there, and runs a rank only once
  --grace SECONDS      between SIGTERM and SIGKILL when the shim itself gets a SIGTERM (10)
  --cgroup DIR         a cgroup v2 folder in which the rank gets a leaf, if allowed; "none": without (the shim's own)
  --host NAME          this host's, for messages
  --user NAME          COMMAND runs as this user, with plan.json and scratch of DIR; takes root
  --needs KEY=PATH     a path that must be there before COMMAND runs; may stand several times
  --reads KEY=PATH, --writes KEY=PATH   one that COMMAND reads or writes
  --read-root DIR, --write-root DIR     folders that these paths must lie in, links followed (any)
  --log-limit SIZE     what is kept of the log: its start and its end (64MiB)
  --spool-limit SIZE   what is kept of messages that nobody has stored yet (64MiB)
  --help, --version

Exit status: 0 when DIR/exit.json tells the rank's end, 1 when it could not be written, 2 for a wrong command line, 3 when DIR is in use
or was used before.
)";

constexpr int64_t kLeastLimitBytes = 4096;

std::string VersionLine() {
  return "trainshim " + std::string(base::Version()) + " (commit " + std::string(base::Commit()) +
         ")\n";
}

base::Error Invalid(const std::string& message) {
  return {base::Code::kInvalid, message + " (trainshim --help)"};
}

// Splits the log's bound into its parts in the proportion of the default.
LogLimits LogLimitsOf(int64_t total_bytes) {
  const int64_t first_bytes = total_bytes / 64;
  return {.first_bytes = first_bytes,
          .segment_bytes = (total_bytes - first_bytes) / 9,
          .newest_segments = 9};
}

// nullopt: done; else what is wrong with it.
std::optional<base::Error> SetOption(std::string_view name, const std::string& value,
                                     ShimOptions& options) {
  if (name == "--dir") {
    options.folder = value;
    return std::nullopt;
  }
  if (name == "--cgroup") {
    options.cgroup_parent = value == "none" ? "" : value;
    return std::nullopt;
  }
  if (name == "--grace") {
    char* end = nullptr;
    options.grace_seconds = std::strtod(value.c_str(), &end);
    const bool valid = end != value.c_str() && *end == '\0' &&
                       std::isfinite(options.grace_seconds) && options.grace_seconds >= 0;
    return valid ? std::nullopt
                 : std::optional(Invalid("--grace " + value + ": expected seconds from 0"));
  }
  if (name == "--host") {
    options.host = value;
    return std::nullopt;
  }
  if (name == "--user") {
    options.user = value;
    return std::nullopt;
  }
  if (name == "--needs" || name == "--reads" || name == "--writes") {
    const size_t equals = value.find('=');
    if (equals == std::string::npos)
      return Invalid(std::string(name) + " " + value + ": expected KEY=PATH");
    const base::FileUse use = name == "--writes" ? base::FileUse::kWrite : base::FileUse::kRead;
    options.paths.named.push_back(
        {value.substr(0, equals), value.substr(equals + 1), use, name == "--needs"});
    return std::nullopt;
  }
  if (name == "--read-root" || name == "--write-root") {
    base::FileRoots& roots = options.paths.roots;
    (name == "--read-root" ? roots.read : roots.write).push_back(value);
    return std::nullopt;
  }
  if (name != "--log-limit" && name != "--spool-limit")
    return Invalid("unknown option " + std::string(name));
  const std::optional<int64_t> bytes = base::ParseBytes(value);
  if (!bytes || *bytes < kLeastLimitBytes)
    return Invalid(std::string(name) + " " + value + ": expected a size from 4KiB");
  if (name == "--log-limit") options.log = LogLimitsOf(*bytes);
  if (name == "--spool-limit")
    options.spool = {.total_bytes = *bytes, .segment_bytes = *bytes / 16};
  return std::nullopt;
}

}  // namespace

base::Result<std::variant<ShimOptions, Information>> ParseOptions(int argc,
                                                                  const char* const* argv) {
  using Parsed = std::variant<ShimOptions, Information>;
  ShimOptions options;
  options.cgroup_parent = OwnCgroup();
  int at = 1;
  for (; at < argc && std::string_view(argv[at]) != "--"; at += 2) {
    const std::string_view name = argv[at];
    if (name == "--help") return Parsed(Information{kHelp});
    if (name == "--version") return Parsed(Information{VersionLine()});
    if (at + 1 >= argc)
      return Invalid(std::string(name) + ": unknown option, or its value is missing");
    if (const std::optional<base::Error> error = SetOption(name, argv[at + 1], options))
      return *error;
  }
  for (++at; at < argc; ++at) options.command.emplace_back(argv[at]);
  if (options.folder.empty()) return Invalid("--dir is missing");
  if (options.command.empty()) return Invalid("the command behind -- is missing");
  return Parsed(std::move(options));
}

}  // namespace trainctl::shim
