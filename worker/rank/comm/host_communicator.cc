#include "worker/rank/comm/host_communicator.h"

#include <ATen/record_function.h>

#include "common/base/check.h"
#include "worker/rank/profile/range_names.h"

namespace trainctl::comm {
namespace {

Element ElementOf(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kBFloat16: return Element::kBf16;
    case at::kFloat: return Element::kF32;
    case at::kDouble: return Element::kF64;
    case at::kLong: return Element::kI64;
    default: break;
  }
  CHECK(false) << "the host backend adds bf16, fp32, fp64 and int64, not "
               << c10::toString(tensor.scalar_type());
  return Element::kF32;
}

std::byte* DataOf(const at::Tensor& tensor) {
  CHECK(tensor.is_cpu() && tensor.is_contiguous())
      << "collectives of CPU ranks take contiguous CPU tensors";
  return static_cast<std::byte*>(tensor.mutable_data_ptr());
}

}  // namespace

HostCommunicator::HostCommunicator(int64_t rank, std::vector<Socket> peers)
    : group_(rank, std::move(peers)), server_([this] { Serve(); }) {}

HostCommunicator::~HostCommunicator() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    pending_.clear();
  }
  changed_.notify_all();
  group_.Abort();
  server_.join();
}

Communicator::Ticket HostCommunicator::AllReduce(const at::Tensor& tensor) {
  return Enqueue([this, tensor, data = DataOf(tensor), element = ElementOf(tensor)] {
    group_.AllReduce(data, static_cast<size_t>(tensor.numel()), element);
  });
}

Communicator::Ticket HostCommunicator::AllGather(const at::Tensor& output,
                                                 const at::Tensor& input) {
  CHECK(output.numel() == input.numel() * world_size() &&
        output.scalar_type() == input.scalar_type())
      << output.numel() << " elements out, " << input.numel() << " in, " << world_size()
      << " ranks";
  return Enqueue([this, output, input, to = DataOf(output), from = DataOf(input)] {
    group_.AllGather(to, from, input.nbytes());
  });
}

Communicator::Ticket HostCommunicator::ReduceScatter(const at::Tensor& output,
                                                     const at::Tensor& input) {
  CHECK(input.numel() == output.numel() * world_size() &&
        output.scalar_type() == input.scalar_type())
      << output.numel() << " elements out, " << input.numel() << " in, " << world_size()
      << " ranks";
  return Enqueue(
      [this, output, input, to = DataOf(output), from = DataOf(input), element = ElementOf(input)] {
        group_.ReduceScatter(to, from, static_cast<size_t>(output.numel()), element);
      });
}

Communicator::Ticket HostCommunicator::Broadcast(const at::Tensor& tensor, int64_t root) {
  return Enqueue([this, tensor, data = DataOf(tensor), root] {
    group_.Broadcast(data, tensor.nbytes(), root);
  });
}

void HostCommunicator::Wait(Ticket ticket) {
  RECORD_USER_SCOPE(profile::kCollectiveRange);
  std::unique_lock lock(mutex_);
  CHECK(ticket <= issued_) << "ticket " << ticket << " of " << issued_;
  changed_.wait(lock, [&] { return finished_ >= ticket || !failure_.empty(); });
  if (finished_ < ticket) {
    throw CommError(failure_);
  }
}

void HostCommunicator::CheckHealth() {
  const std::lock_guard lock(mutex_);
  ThrowIfFailed();
}

void HostCommunicator::Abort() noexcept { group_.Abort(); }

Communicator::Ticket HostCommunicator::Enqueue(std::function<void()> collective) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return pending_.size() < kMaxPending || !failure_.empty(); });
  ThrowIfFailed();
  pending_.push_back(std::move(collective));
  changed_.notify_all();
  return ++issued_;
}

// The thread: one collective after the other, until the end or the first failure.
void HostCommunicator::Serve() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return stopping_ || !pending_.empty(); });
    if (stopping_) {
      return;
    }
    auto collective = std::move(pending_.front());
    pending_.pop_front();
    lock.unlock();
    std::string failure;
    try {
      collective();
    } catch (const std::exception& error) {
      failure = error.what();
    }
    collective = nullptr;  // lets go of the tensors before anybody learns that they are free
    if (!failure.empty()) {
      group_.Abort();
    }
    lock.lock();
    if (!failure.empty()) {
      failure_ = failure;
      pending_.clear();
      changed_.notify_all();
      return;
    }
    ++finished_;
    changed_.notify_all();
  }
}

void HostCommunicator::ThrowIfFailed() const {
  if (!failure_.empty()) {
    throw CommError(failure_);
  }
}

}  // namespace trainctl::comm
