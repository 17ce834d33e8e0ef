// `trainworker --inspect`: what model and data of a job hold, before anything runs. A process of
// its own, without LibTorch: a file that crashes or holds it harms no rank, and it starts at once.
#pragma once

#include <iosfwd>
#include <string_view>

#include "common/base/file_roots.h"
#include "worker/rank/data/cache_folders.h"

namespace trainctl::agent {

struct InspectionPlace {
  data::CacheFolders caches;
  base::FileRoots roots;  // that the job's files must lie in; this process is kept to them
};

// Begins a line of errors that says what goes on, and not what is wrong.
inline constexpr std::string_view kInspectionNote = "note: ";

// Reads a job from in, and writes its inspection to out as JSON. Returns the exit status: 2 if the
// job names something that is not usable, 1 for other failures. Then errors says what is wrong.
int InspectJob(std::istream& in, const InspectionPlace& place, std::ostream& out,
               std::ostream& errors);

}  // namespace trainctl::agent
