// The worker's own folder: one worker at a time holds it, and its identity tells it from any
// other. So the coordinator never takes a second worker of the same name for the first.
#pragma once

#include <string>

#include "common/base/descriptor.h"
#include "common/base/result.h"

namespace trainctl::agent {

struct WorkerFolder {
  base::Descriptor lock;  // held as long as it is open
  std::string identity;   // of worker.json: made once, kept across restarts
};

// Makes the folder where it is missing; `fresh`, random, is then its identity. worker.json:
// {"identity", "lock_inode"}; a copy of the folder has its worker.lock in another place. That file
// has the same text, in case worker.json is lost. kConflict: another worker uses the folder, it is
// a copy of another worker's, or holds ranks while both texts are damaged: these ranks are not to
// be touched. kIo: it can't be used. An identity that can't be stored lasts for this process only.
base::Result<WorkerFolder> TakeFolder(const std::string& directory, const std::string& fresh);

// Makes the folder of the ranks' folders again where somebody removed it, with the rights of the
// worker's own. kIo.
base::Status KeepRanksFolder(const std::string& directory);

// Where ranks run as their owners: everybody may pass through to the ranks' folders, and see what
// is there by no other name. kIo.
base::Status OpenWayToRanks(const std::string& directory);

// "no space left on /var/lib/trainctl/0", of the errno by which its disk refuses a write.
std::string WhyUnwritable(const std::string& directory, int error);

}  // namespace trainctl::agent
