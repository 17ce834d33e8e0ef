// traincoordinator restore: a site that begins with a backup.
#pragma once

#include "common/base/clock.h"
#include "common/base/result.h"
#include "server/daemon/options.h"
#include "server/store/backup.h"

namespace trainctl::coordinator {

// Errors as store::RestoreBackup. Numbers of jobs that have logs in the folder are not given again.
base::Result<store::Restored> RestoreSite(const RestoreOptions& options, const base::Clock& clock);

}  // namespace trainctl::coordinator
