#include "worker/train/resume.h"

#include <ATen/ops/empty.h>
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
#include "worker/train/element_types.h"

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
  return !manifest.runs.empty() && manifest.runs.back() == plan.job_id && job::ToJson(manifest.job) == job::ToJson(plan.job);
}

bool Appears(const std::string& path) {
  for (int look = 0; look < kLooks; ++look) {
    std::error_code error;
    if (fs::exists(path, error)) return true;
    std::this_thread::sleep_for(kLookPause);
  }
  return false;
}

bool CanConvert(at::ScalarType from, at::ScalarType to) { return from == to || (at::isFloatingType(from) && at::isFloatingType(to)); }

base::Status Fill(const strategy::StateSlice& slice, const files::StatePiece& piece) {
  const std::optional<at::ScalarType> type = ScalarTypeOf(piece.dtype);
  if (!type || !CanConvert(*type, slice.values.scalar_type())) {
    return base::Error{base::Code::kInvalid, slice.kind + " of " + slice.tensor + " is stored as " + std::string(files::Name(piece.dtype)) +
                                                 ": expected " + std::string(files::Name(DTypeOf(slice.values.scalar_type())))};
  }
  const at::Tensor stored =
      at::from_blob(const_cast<std::byte*>(piece.bytes.data()), {piece.count}, at::TensorOptions().dtype(*type));
  slice.values.narrow(0, piece.begin - slice.begin, piece.count).copy_(stored.to(slice.values.device()));
  return base::Ok{};
}

}  // namespace

base::Result<std::optional<std::string>> ChooseCheckpoint(const job::RankPlan& plan) {
  const job::JobSpec& spec = plan.job;
  if (plan.attempt > 1 && spec.checkpoint.every_steps && spec.output.dir) {
    const std::vector<files::FoundCheckpoint> found = files::ListCheckpoints(files::CheckpointsDirectory(*spec.output.dir));
    for (auto checkpoint = found.rbegin(); checkpoint != found.rend(); ++checkpoint) {
      if (Wrote(plan, checkpoint->manifest)) return std::optional(checkpoint->path);
    }
  }
  if (!spec.checkpoint.resume_from) return std::optional<std::string>();
  const auto found = files::FindCheckpoint(*spec.checkpoint.resume_from);
  if (!found) return found.error();
  return std::optional(found->path);
}

std::optional<std::string> ShareChoice(const std::optional<std::string>& choice, comm::Communicator& comm, at::Device device) {
  if (comm.world_size() == 1) return choice;
  const auto options = at::TensorOptions().dtype(at::kLong).device(device);
  const at::Tensor size = at::full({1}, choice ? static_cast<int64_t>(choice->size()) : -1, options);
  comm.Wait(comm.Broadcast(size, 0));
  const auto bytes = size.item<int64_t>();
  if (bytes < 0) return std::nullopt;
  std::vector<int64_t> codes(static_cast<size_t>(bytes));
  if (choice) std::ranges::copy(*choice, codes.begin());
  const at::Tensor text = at::from_blob(codes.data(), {bytes}, at::TensorOptions().dtype(at::kLong)).to(options).clone();
  comm.Wait(comm.Broadcast(text, 0));
  const at::Tensor host = text.cpu();
  const int64_t* begin = host.const_data_ptr<int64_t>();
  std::string shared;
  for (int64_t i = 0; i < bytes; ++i) shared += static_cast<char>(begin[i]);
  return shared;
}

base::Status CheckSharedFolder(const std::string& directory, const job::RankPlan& plan, comm::Communicator& comm, at::Device device) {
  if (comm.world_size() == 1) return base::Ok{};
  const bool leads = comm.rank() == 0;
  const std::string path = directory + "/.seen-by-all." + plan.job_id + "." + std::to_string(plan.attempt);
  base::Status made = base::Ok{};
  if (leads) {
    std::error_code error;
    fs::create_directories(directory, error);
    made = base::WriteFileAtomically(path, HostName() + "\n");
  }
  ShareChoice(path, comm, device);  // the file is there, or rank 0 knows why not
  const bool seen = made.ok() && Appears(path);
  const at::Tensor all = at::full({1}, seen ? 1 : 0, at::TensorOptions().dtype(at::kLong).device(device));
  comm.Wait(comm.AllReduce(all));
  const bool seen_by_all = all.item<int64_t>() == comm.world_size();
  if (leads && made.ok()) {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
  if (!made.ok()) return made;
  if (seen_by_all || seen) return base::Ok{};
  return base::Error{base::Code::kInvalid, "output.dir: host " + HostName() + " does not see in '" + directory +
                                               "' what rank 0 wrote there: checkpoints of a gang need a folder that all its hosts share"};
}

base::Status RestoreState(files::CheckpointState& checkpoint, strategy::Strategy& strategy,
                          const std::function<void(int64_t done_bytes, int64_t total_bytes)>& progress) {
  const std::vector<strategy::StateSlice> slices = strategy.State();
  int64_t done = 0, total = 0;
  for (const strategy::StateSlice& slice : slices) total += static_cast<int64_t>(slice.values.nbytes());
  for (const strategy::StateSlice& slice : slices) {
    const files::StateRange range{.tensor = slice.tensor,
                                  .kind = slice.kind,
                                  .elements_per_value = slice.elements_per_value,
                                  .begin = slice.begin,
                                  .count = slice.values.numel(),
                                  .total = slice.total};
    const auto pieces = checkpoint.Read(range);
    if (!pieces) return pieces.error();
    for (const files::StatePiece& piece : pieces.value()) {
      if (base::Status filled = Fill(slice, piece); !filled) {
        return base::Error{filled.error().code, "checkpoint '" + checkpoint.path() + "': " + filled.error().message};
      }
    }
    checkpoint.Release(range);
    done += static_cast<int64_t>(slice.values.nbytes());
    progress(done, total);
  }
  strategy.FinishLoading();
  return base::Ok{};
}

}  // namespace trainctl::train
