#include "server/daemon/restore_site.h"

#include <unistd.h>

#include "common/peer/socket_owner.h"
#include "server/coordinator/log_files.h"

namespace trainctl::coordinator {

base::Result<store::Restored> RestoreSite(const RestoreOptions& options, const base::Clock& clock) {
  const base::Result<base::JobId> last_job = LogFiles(options.directory + "/logs").LastJob();
  if (!last_job) return last_job.error();
  return store::RestoreBackup({.file = options.file,
                               .directory = options.directory,
                               .last_job = last_job->value,
                               .actor = peer::UserName(geteuid()),
                               .now = clock.Wall()});
}

}  // namespace trainctl::coordinator
