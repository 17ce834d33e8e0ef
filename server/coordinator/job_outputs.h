// What a job that has ended may have written, and where: what it takes to remove it. For the read
// thread.
#pragma once

#include <string>
#include <vector>

#include "common/base/ids.h"
#include "common/base/result.h"
#include "common/rank/output_removal.h"
#include "server/store/reader.h"

namespace trainctl::coordinator {

struct JobOutputs {
  base::JobId job;
  std::string name;
  std::string owner;       // who submitted it
  std::string output_dir;  // empty: it writes no files
  struct Host {
    std::string name;
    std::vector<std::string> workers;
  };
  std::vector<Host> hosts;  // that its attempts ran on; empty where there is no output_dir
  std::vector<job::SavedPlace> saved;  // of all attempts
};

// kConflict: nobody can tell, since this coordinator can't read the job's settings, or too much was
// recorded. kIo.
base::Result<JobOutputs> FindOutputs(store::Reader& reader, const core::JobRow& job);

}  // namespace trainctl::coordinator
