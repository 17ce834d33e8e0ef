#include "common/job/folder_claims.h"

#include "common/job/output_folder.h"

namespace trainctl::job {
namespace {

// "it is that of j1", "it is within "/out", that of j1", ""/out/a" in it is that of j1".
std::string Overlap(const std::string& folder, const std::string& other) {
  if (other == folder) return "it is that of ";
  const std::string quoted = "\"" + other + "\"";
  return other.size() < folder.size() ? "it is within " + quoted + ", that of "
                                      : quoted + " in it is that of ";
}

}  // namespace

std::optional<Problem> FolderClaims::Claim(const JobSpec& job) {
  if (!WritesOutput(job)) return std::nullopt;
  const std::string folder = NormalFolder(*job.output.dir);
  std::string writer;
  if (const auto mine = FindOverlap(writers_, folder); mine != writers_.end())
    writer = Overlap(folder, mine->first) + mine->second + " of the same submission";
  else if (const std::optional<Live> live = live_(folder))
    writer = Overlap(folder, live->folder) + live->job + ", which has not ended";
  writers_.try_emplace(folder, job.name);
  if (writer.empty()) return std::nullopt;
  return Problem{"output.dir", 0, "\"" + folder + "\"", "a folder of its own: " + writer,
                 "name another folder, as with --output.dir DIR"};
}

}  // namespace trainctl::job
