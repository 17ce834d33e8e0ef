#include "worker/rank/state/resume.h"

#include <ATen/ops/from_blob.h>
#include <ATen/ops/full.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/file.h"
#include "common/job/job_json.h"
#include "common/job/output_folder.h"
#include "common/rank/run_names.h"
#include "worker/rank/files/checkpoint_folder.h"

namespace trainctl::train {
namespace {

namespace fs = std::filesystem;

// A network file system shows another host's new file after at most its attribute cache's time.
constexpr int kLooks = 40;
constexpr auto kLookPause = std::chrono::milliseconds(250);

std::string HostName() {
  char name[256] = "";
  gethostname(name, sizeof name - 1);
  return name;
}

// Not only the id: those of a new coordinator begin at j1 again.
bool Wrote(const job::RankPlan& plan, const files::CheckpointManifest& manifest) {
  return !manifest.runs.empty() && manifest.runs.back() == plan.job_id &&
         job::ToJson(manifest.job) == job::ToJson(plan.job);
}

// With resume_job, the folder of the checkpoints is still that job's, or already ours: what is
// newest there is of the run that is to go on.
base::Status CheckResumedFolder(const job::RankPlan& plan) {
  const job::CheckpointSpec& spec = plan.job.checkpoint;
  if (!spec.resume_job) return base::Ok{};
  const std::string output_dir = job::FindOwnedFolder(*spec.resume_from);
  const base::Result<job::OutputFolder> folder = job::ReadOutputFolder(output_dir);
  if (!folder) return folder.error();
  if (!folder->owner) return base::Ok{};
  const job::FolderOwner& owner = *folder->owner;
  if (owner.site == plan.site && (owner.job == *spec.resume_job || owner.job == plan.job_id))
    return base::Ok{};
  return base::Error{base::Code::kInvalid, "'" + output_dir + "' is no longer that of " +
                                               *spec.resume_job + ": " + owner.job + " (" +
                                               owner.name + ") went on there; go on from " +
                                               owner.job + " instead"};
}

bool Appears(const std::string& path) {
  for (int look = 0; look < kLooks; ++look) {
    std::error_code error;
    if (fs::exists(path, error)) return true;
    std::this_thread::sleep_for(kLookPause);
  }
  return false;
}

}  // namespace

base::Result<std::optional<std::string>> ChooseCheckpoint(const job::RankPlan& plan) {
  const job::JobSpec& spec = plan.job;
  if (plan.attempt > 1 && spec.checkpoint.every_steps && spec.output.dir) {
    const std::vector<files::FoundCheckpoint> found =
        files::ListCheckpoints(files::CheckpointsDirectory(*spec.output.dir));
    for (auto checkpoint = found.rbegin(); checkpoint != found.rend(); ++checkpoint) {
      if (Wrote(plan, checkpoint->manifest)) return std::optional(checkpoint->path);
    }
  }
  if (!spec.checkpoint.resume_from) return std::optional<std::string>();
  if (const base::Status own = CheckResumedFolder(plan); !own) return own.error();
  const auto found = files::FindCheckpoint(*spec.checkpoint.resume_from);
  if (!found) return found.error();
  return std::optional(found->path);
}

std::optional<std::string> ShareChoice(const std::optional<std::string>& choice,
                                       comm::Communicator& comm, at::Device device) {
  if (comm.world_size() == 1) return choice;
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  const at::Tensor size =
      at::full({1}, choice ? static_cast<int64_t>(choice->size()) : -1, options);
  comm.Wait(comm.Broadcast(size, 0));
  const auto bytes = size.item<int64_t>();
  if (bytes < 0) return std::nullopt;
  std::vector<int64_t> codes(static_cast<size_t>(bytes));
  if (choice) std::ranges::copy(*choice, codes.begin());
  const at::Tensor text = at::from_blob(codes.data(), {bytes}, at::TensorOptions().dtype(at::kLong))
                              .to(options)
                              .clone();
  comm.Wait(comm.Broadcast(text, 0));
  const at::Tensor host = text.cpu();
  const int64_t* begin = host.const_data_ptr<int64_t>();
  std::string shared;
  for (int64_t i = 0; i < bytes; ++i) shared += static_cast<char>(begin[i]);
  return shared;
}

bool AtEveryRank(bool ok, comm::Communicator& comm, at::Device device) {
  if (comm.world_size() == 1) return ok;
  const at::Tensor all =
      at::full({1}, ok ? 1 : 0, at::TensorOptions().dtype(at::kLong).device(device));
  comm.Wait(comm.AllReduce(all));
  return all.item<int64_t>() == comm.world_size();
}

base::Status CheckSharedFolder(const std::string& directory, const job::RankPlan& plan,
                               comm::Communicator& comm, at::Device device) {
  if (comm.world_size() == 1) return base::Ok{};
  const bool leads = comm.rank() == 0;
  const std::string path =
      directory + "/" + job::SharedFolderMark(job::AttemptTag(plan.job_id, plan.attempt));
  base::Status made = base::Ok{};
  if (leads) {
    std::error_code error;
    fs::create_directories(directory, error);
    made = base::WriteFileAtomically(path, HostName() + "\n");
  }
  ShareChoice(path, comm, device);  // the file is there, or rank 0 knows why not
  const bool seen = made.ok() && Appears(path);
  const bool seen_by_all = AtEveryRank(seen, comm, device);
  if (leads && made.ok()) {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
  if (!made.ok()) return made;
  if (seen_by_all || seen) return base::Ok{};
  return base::Error{base::Code::kInvalid, "output.dir: host " + HostName() + " does not see in '" +
                                               directory +
                                               "' what rank 0 wrote there: checkpoints of a gang "
                                               "need a folder that all its hosts share"};
}

}  // namespace trainctl::train
