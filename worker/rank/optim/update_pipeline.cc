#include "worker/rank/optim/update_pipeline.h"

#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace trainctl::optim {
namespace {

constexpr int64_t kGradients = 2;  // alive at once
constexpr size_t kComputing = 2;   // chunks: the pool has the next one before it has finished one

}  // namespace

UpdatePipeline::UpdatePipeline(c10::Device device, int64_t threads, AdamKernel kernel,
                               std::unique_ptr<ChunkTransfer> transfer)
    : device_(device),
      kernel_(kernel),
      transfer_(std::move(transfer)),
      pool_(threads),
      thread_([this] { Run(); }) {}

UpdatePipeline::~UpdatePipeline() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void UpdatePipeline::ThrowIfFailed() const {
  if (error_) std::rethrow_exception(error_);
}

void UpdatePipeline::Enqueue(std::shared_ptr<HostUpdate> update) {
  CHECK(update->grad.device() == device_)
      << "an optimizer for " << device_ << " was given a gradient on " << update->grad.device();
  CHECK(update->grad.is_contiguous() && update->grad.numel() == update->master.numel())
      << update->grad.numel() << " gradients";
  transfer_->MarkReady(*update);
  std::unique_lock lock(mutex_);
  ThrowIfFailed();
  if (update->master.numel() == 0) return;
  waiting_.push_back(std::move(update));
  ++gradients_;
  ++unfinished_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return gradients_ < kGradients || error_; });
  ThrowIfFailed();
}

void UpdatePipeline::Finish() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return unfinished_ == 0 || error_; });
    ThrowIfFailed();
  }
  transfer_->Join();
}

void UpdatePipeline::Run() {
  try {
    if (device_.is_cuda()) c10::cuda::set_device(device_.index());
    while (FillRing()) {
      if (!fetching_.empty() && computing_.size() < kComputing) {
        Compute();
      } else {
        Complete();
      }
    }
  } catch (...) {
    Fail();
  }
}

// False: there is nothing left to do, and nothing will come.
bool UpdatePipeline::FillRing() {
  while (fetching_.size() + computing_.size() < ChunkTransfer::kSlots) {
    const bool idle = fetching_.empty() && computing_.empty();
    std::optional<Chunk> chunk = NextChunk(/*may_wait=*/idle);
    if (!chunk) return !idle;
    const size_t slot = next_slot_++ % ChunkTransfer::kSlots;
    transfer_->Fetch(slot, *chunk);
    fetching_.push_back({std::move(*chunk), slot});
  }
  return true;
}

std::optional<Chunk> UpdatePipeline::NextChunk(bool may_wait) {
  if (!current_) {
    std::unique_lock lock(mutex_);
    if (may_wait) changed_.wait(lock, [this] { return stopping_ || !waiting_.empty(); });
    if (waiting_.empty()) return std::nullopt;
    current_ = std::move(waiting_.front());
    waiting_.pop_front();
    next_begin_ = 0;
  }
  const int64_t total = current_->master.numel();
  const int64_t count = std::min<int64_t>(ChunkTransfer::kGradBytes / current_->grad.element_size(),
                                          total - next_begin_);
  Chunk chunk{current_, next_begin_, count, next_begin_ + count == total};
  next_begin_ += count;
  if (chunk.last) current_.reset();
  return chunk;
}

void UpdatePipeline::Compute() {
  Fetching next = std::move(fetching_.front());
  fetching_.pop_front();
  const ChunkTransfer::Fetched fetched = transfer_->Await(next.slot, next.chunk);
  AdamRule rule = next.chunk.update->rule;
  rule.grad_scale = fetched.grad_scale;
  TilePool::Ticket ticket = pool_.Submit(
      fetched.tile.count, [kernel = kernel_, rule, tile = fetched.tile](
                              int64_t begin, int64_t end) { kernel(rule, tile.Part(begin, end)); });
  if (next.chunk.last && transfer_->copies()) ReleaseGrad(next.chunk);
  computing_.push_back({std::move(next.chunk), next.slot, std::move(ticket)});
}

void UpdatePipeline::Complete() {
  const Computing done = std::move(computing_.front());
  computing_.pop_front();
  pool_.Wait(done.ticket);
  transfer_->Return(done.slot, done.chunk);
  if (!done.chunk.last) return;
  if (!transfer_->copies()) ReleaseGrad(done.chunk);
  const std::lock_guard lock(mutex_);
  --unfinished_;
  changed_.notify_all();
}

void UpdatePipeline::ReleaseGrad(const Chunk& chunk) {
  chunk.update->grad.reset();
  const std::lock_guard lock(mutex_);
  --gradients_;
  changed_.notify_all();
}

void UpdatePipeline::Fail() {
  const std::exception_ptr error = std::current_exception();
  for (const Computing& computing : computing_) pool_.Wait(computing.ticket);
  computing_.clear();
  fetching_.clear();
  current_.reset();
  const std::lock_guard lock(mutex_);
  waiting_.clear();
  error_ = error;
  changed_.notify_all();
}

}  // namespace trainctl::optim
