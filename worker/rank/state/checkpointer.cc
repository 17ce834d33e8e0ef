#include "worker/rank/state/checkpointer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <utility>

#include "common/base/saved_folder.h"
#include "common/base/size.h"
#include "common/rank/run_names.h"
#include "worker/rank/files/output_owner.h"
#include "worker/rank/state/element_types.h"
#include "worker/rank/strategy/tensor_bytes.h"

namespace trainctl::train {
namespace {

constexpr int64_t kBufferBytes = int64_t{64} << 20;
constexpr base::SteadyMicros kPartsTimeout = 600'000'000;
constexpr auto kPartsPause = std::chrono::milliseconds(20);
constexpr auto kTellInterval = std::chrono::milliseconds(250);

files::CheckpointSlice Describe(const strategy::StateSlice& slice) {
  return {.tensor = slice.tensor,
          .kind = slice.kind,
          .dtype = DTypeOf(slice.values.scalar_type()),
          .elements_per_value = slice.elements_per_value,
          .begin = slice.begin,
          .count = slice.values.numel(),
          .total = slice.total,
          .digest = ""};
}

// Room for a whole state.
Staging StagingFor(int64_t state_bytes, at::Device device) {
  const int64_t buffer_bytes = std::clamp<int64_t>(state_bytes, 1, kBufferBytes);
  return Staging(device, buffer_bytes,
                 std::max<int64_t>(1, (state_bytes + buffer_bytes - 1) / buffer_bytes));
}

}  // namespace

Checkpointer::Checkpointer(CheckpointerOptions options)
    : options_(std::move(options)),
      state_bytes_(strategy::Bytes(WrittenSlices())),
      staging_(StagingFor(state_bytes_, options_.device)) {}

Checkpointer::~Checkpointer() { Finish(); }

bool Checkpointer::IsDue(int64_t steps_done) const {
  const std::optional<int64_t> every = options_.plan.job.checkpoint.every_steps;
  return every && steps_done % *every == 0;
}

std::vector<strategy::StateSlice> Checkpointer::WrittenSlices() const {
  std::vector<strategy::StateSlice> slices = options_.strategy.State();
  std::erase_if(slices, [](const strategy::StateSlice& slice) {
    return !slice.writes || slice.values.numel() == 0;
  });
  return slices;
}

void Checkpointer::Save(const TrainingMoment& moment) {
  Finish();
  finishing_ = writer_done_ = false;
  written_bytes_ = 0;
  const std::vector<strategy::StateSlice> slices = WrittenSlices();
  files::CheckpointPart::Options part{
      .place = {.directory = files::CheckpointsDirectory(*options_.plan.job.output.dir),
                .step = moment.steps_done,
                .tag = job::AttemptTag(options_.plan.job_id, options_.plan.attempt)},
      .rank = options_.plan.rank,
      .world_size = options_.plan.world_size,
      .slices = {}};
  for (const strategy::StateSlice& slice : slices) part.slices.push_back(Describe(slice));
  files::CheckpointManifest manifest{.step = moment.steps_done,
                                     .total_steps = options_.total_steps,
                                     .written_at = options_.clock.Wall(),
                                     .world_size = options_.plan.world_size,
                                     .runs = options_.runs,
                                     .val_loss = moment.val_loss,
                                     .job = options_.plan.job,
                                     .data_digest = options_.data_digest,
                                     .epoch = moment.steps_done / options_.steps_per_epoch,
                                     .step_in_epoch = moment.steps_done % options_.steps_per_epoch,
                                     .files = {}};
  writer_ = std::thread([this, part = std::move(part), manifest = std::move(manifest)]() mutable {
    Write(std::move(part), std::move(manifest));
    Set([this] { writer_done_ = true; });
  });
  Copy(slices);
}

// The slices' bytes one after another, through as many buffers as they fill.
void Checkpointer::Copy(const std::vector<strategy::StateSlice>& slices) {
  const int64_t capacity = staging_.buffer_bytes();
  at::Tensor buffer;
  int64_t filled = 0;
  const auto push = [&] {
    if (buffer.defined())
      staging_.Push({std::exchange(buffer, at::Tensor()), filled, StreamMark(options_.device)});
    SayWaiting();
  };
  for (const strategy::StateSlice& slice : slices) {
    const at::Tensor bytes = slice.values.contiguous().view(at::kByte);
    for (int64_t done = 0; done < bytes.numel();) {
      if (buffer.defined() && filled == capacity) push();
      if (!buffer.defined()) {
        buffer = staging_.Take();
        filled = 0;
      }
      const int64_t count = std::min(capacity - filled, bytes.numel() - done);
      buffer.narrow(0, filled, count).copy_(bytes.narrow(0, done, count), /*non_blocking=*/true);
      filled += count;
      done += count;
    }
  }
  push();
  staging_.Close();
  StreamMark(options_.device).Wait();
}

void Checkpointer::Finish() {
  Set([this] { finishing_ = true; });
  if (!writer_.joinable()) return;
  for (std::unique_lock lock(mutex_);
       !changed_.wait_for(lock, kTellInterval, [this] { return writer_done_; });) {
    lock.unlock();
    SayWaiting();
    lock.lock();
  }
  SayWaiting();
  writer_.join();
}

bool Checkpointer::IsWriting() const {
  const std::lock_guard lock(mutex_);
  return writer_.joinable() && !writer_done_;
}

void Checkpointer::Set(const std::function<void()>& change) {
  const std::lock_guard lock(mutex_);
  change();
  changed_.notify_all();
}

void Checkpointer::Confirm(int64_t steps_done) {
  Set([&] { confirmed_steps_ = steps_done; });
}

void Checkpointer::Reject() {
  Set([this] { rejected_ = true; });
}

void Checkpointer::Abandon() {
  Set([this] { abandoned_ = true; });
}

Checkpointer::Verdict Checkpointer::AwaitVerdict(int64_t steps_done) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] {
    return confirmed_steps_ >= steps_done || rejected_ || finishing_ || abandoned_;
  });
  if (confirmed_steps_ >= steps_done) return Verdict::kGood;
  return rejected_ ? Verdict::kBad : Verdict::kUnknown;
}

bool Checkpointer::Report(const std::function<void(Reporter&)>& report) {
  const std::lock_guard lock(mutex_);
  if (!abandoned_) report(options_.reporter);
  return !abandoned_;
}

void Checkpointer::SayWaiting() {
  Report([&](Reporter& reporter) {
    reporter.Phase(job::RunPhase::kSaving, written_bytes_, state_bytes_);
  });
}

void Checkpointer::Write(files::CheckpointPart::Options part, files::CheckpointManifest manifest) {
  const files::CheckpointPlace place = part.place;
  const bool leads = part.rank == 0;
  base::Status status = WriteOwnPart(std::move(part));
  if (status.ok() && leads) status = Complete(place, manifest);
  if (!status.ok()) {
    files::AbandonCheckpoint(place);
    const std::string text = "no checkpoint of step " + std::to_string(place.step) + ": " +
                             status.error().message +
                             "; training goes on, and the last whole checkpoint serves";
    std::fprintf(stderr, "trainrank: %s\n", text.c_str());
    Report([&](Reporter& reporter) { reporter.Send(job::RankNotice{text}); });
    return;
  }
  if (!leads) return;
  switch (AwaitVerdict(place.step)) {
    case Verdict::kGood: break;
    case Verdict::kBad: return static_cast<void>(files::RemoveCheckpoint(place.path()));
    case Verdict::kUnknown: return;  // older ones stay beside it
  }
  TellAndRotate(place);
}

base::Status Checkpointer::WriteOwnPart(files::CheckpointPart::Options options) {
  base::Result<files::CheckpointPart> part = files::CheckpointPart::Create(std::move(options));
  if (part) return WriteStaged(*part);
  while (std::optional<StagedBytes> staged = staging_.Pop())
    staging_.GiveBack(std::move(staged->buffer));
  return part.error();
}

// Takes every buffer, also after a fault: the training thread waits for them.
base::Status Checkpointer::WriteStaged(files::CheckpointPart& part) {
  base::Status status = base::Ok{};
  while (std::optional<StagedBytes> staged = staging_.Pop()) {
    if (status.ok()) {
      try {
        staged->ready.Wait();
        status = part.Append({static_cast<const std::byte*>(staged->buffer.const_data_ptr()),
                              static_cast<size_t>(staged->bytes)});
      } catch (const std::exception&
                   error) {  // the device failed, of which the training thread hears too
        status = base::Error{base::Code::kIo, error.what()};
      }
    }
    written_bytes_ += staged->bytes;
    staging_.GiveBack(std::move(staged->buffer));
  }
  return status.ok() ? part.Finish() : status;
}

bool Checkpointer::KeepWaiting(base::SteadyMicros deadline) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, kPartsPause, [this] { return abandoned_; });
  return !abandoned_ && options_.clock.Steady() < deadline;
}

base::Status Checkpointer::Complete(const files::CheckpointPlace& place,
                                    const files::CheckpointManifest& manifest) {
  if (const base::Status owns = files::CheckOwnsOutput(options_.plan); !owns) return owns;
  const base::SteadyMicros deadline = options_.clock.Steady() + kPartsTimeout;
  return files::CompleteCheckpoint(place, manifest,
                                   [this, deadline] { return KeepWaiting(deadline); });
}

// Told first: a rank that is killed in between leaves one too many there, and none listed that is
// gone.
void Checkpointer::TellAndRotate(const files::CheckpointPlace& place) {
  const job::CheckpointSpec& spec = options_.plan.job.checkpoint;
  const std::vector<std::string> surplus = files::SurplusCheckpoints(
      place.directory, {.last = spec.keep_last, .best = spec.keep_best}, options_.runs);
  const bool is_told = Report([&](Reporter& reporter) {
    reporter.Saved("checkpoint", place.path(), base::RecordSaved(place.path()), surplus);
  });
  if (!is_told) return;
  for (const std::string& path : surplus) {
    if (const base::Status removed = files::RemoveCheckpoint(path); !removed)
      std::fprintf(stderr, "trainrank: an old checkpoint stays: %s\n",
                   removed.error().message.c_str());
  }
}

}  // namespace trainctl::train
