#include "server/daemon/restore_site.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>

#include "common/base/ids.h"
#include "common/peer/socket_owner.h"

namespace trainctl::coordinator {
namespace {

int64_t LastJobWithLogs(const std::string& directory) {
  namespace fs = std::filesystem;
  int64_t last = 0;
  std::error_code error;
  for (fs::directory_iterator at(directory + "/logs", error), end; !error && at != end;
       at.increment(error)) {
    if (const auto job = base::ParseJobId(at->path().filename().string()))
      last = std::max(last, job->value);
  }
  return last;
}

}  // namespace

base::Result<store::Restored> RestoreSite(const RestoreOptions& options, const base::Clock& clock) {
  return store::RestoreBackup({.file = options.file,
                               .directory = options.directory,
                               .last_job = LastJobWithLogs(options.directory),
                               .actor = peer::UserName(geteuid()),
                               .now = clock.Wall()});
}

}  // namespace trainctl::coordinator
