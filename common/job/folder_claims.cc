#include "common/job/folder_claims.h"

#include "common/job/output_folder.h"

namespace trainctl::job {

std::optional<Problem> FolderClaims::Claim(const JobSpec& job) {
  if (!WritesOutput(job)) return std::nullopt;
  const std::string folder = NormalFolder(*job.output.dir);
  const auto [other, is_first] = writers_.try_emplace(folder, job.name);
  const std::string live = live_(folder);
  if (live.empty() && is_first) return std::nullopt;
  const std::string writer =
      is_first ? live + ", which has not ended" : other->second + " of the same submission";
  return Problem{"output.dir", 0, "\"" + folder + "\"",
                 "a folder of its own: it is that of " + writer,
                 "name another folder, as with --output.dir DIR"};
}

}  // namespace trainctl::job
