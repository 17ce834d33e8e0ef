#include "worker/rank/comm/peer_shards.h"

#include <ATen/cuda/MemPool.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/AllocatorConfig.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <utility>

#include "common/base/check.h"

namespace trainctl::comm {
namespace {

namespace cuda_allocator = c10::cuda::CUDACachingAllocator;
using Buffers = std::vector<std::shared_ptr<const std::byte>>;

// Copies that take longer than this many times NCCL's all-gather are not worth the multiprocessors
// that they leave free. (Reading across the sockets of a host can be slow.)
constexpr double kMostTime = 1.25;
constexpr int64_t kProbeBytes = 32 << 20;
constexpr int kProbes = 3;

// ---- memory that another process can map ----

// Only what cudaMalloc gave can be mapped by any process of the user: expandable segments need the
// right to take a peer's file descriptors.
class WithoutExpandableSegments {
 public:
  WithoutExpandableSegments() {
    c10::CachingAllocator::setAllocatorSettings(settings_ + (settings_.empty() ? "" : ",") +
                                                "expandable_segments:False");
  }
  ~WithoutExpandableSegments() { c10::CachingAllocator::setAllocatorSettings(settings_); }

 private:
  const std::string settings_ = c10::CachingAllocator::getAllocatorSettings();
};

// In a pool of its own, so that no free block of an expandable segment serves it.
at::Tensor MappableZeros(int64_t numel, const at::TensorOptions& options) {
  at::cuda::MemPool pool;
  const WithoutExpandableSegments guard;
  cuda_allocator::beginAllocateToPool(pool.device(), pool.id(), [](cudaStream_t) { return true; });
  at::Tensor zeros;
  try {
    zeros = at::zeros({numel}, options);
  } catch (...) {
    cuda_allocator::endAllocateToPool(pool.device(), pool.id());
    throw;
  }
  cuda_allocator::endAllocateToPool(pool.device(), pool.id());
  return zeros;
}

std::vector<at::Tensor> Divide(const at::Tensor& all, const std::vector<int64_t>& numels) {
  std::vector<at::Tensor> parts;
  int64_t begin = 0;
  for (const int64_t numel : numels) {
    parts.push_back(all.narrow(0, begin, numel));
    begin += numel;
  }
  return parts;
}

// ---- the peers' memory ----

// A rank's buffer, as it tells the others.
struct Address {
  std::array<char, 64> boot;  // of the rank's host
  int64_t offset;             // of the buffer in what the handle maps
  int64_t handle_size;        // 0: it can't be mapped
  std::array<char, 432> handle;
};

Address AddressOf(const at::Tensor& buffer) {
  Address address{};
  std::ifstream("/proc/sys/kernel/random/boot_id").read(address.boot.data(), address.boot.size());
  try {
    const auto shared = cuda_allocator::shareIpcHandle(buffer.data_ptr());
    if (shared.handle.size() > address.handle.size()) return address;
    address.offset = shared.offset;
    address.handle_size = static_cast<int64_t>(shared.handle.size());
    std::ranges::copy(shared.handle, address.handle.begin());
  } catch (const c10::Error&) {
    // The driver shares no memory of this process.
  }
  cudaGetLastError();  // what the attempt left behind
  return address;
}

// Nothing where it can't be mapped.
std::shared_ptr<const std::byte> Map(const Address& peer, const Address& own) {
  if (peer.handle_size == 0 || peer.boot != own.boot) return nullptr;
  try {
    const std::shared_ptr<void> mapped = cuda_allocator::getIpcDevPtr(
        std::string(peer.handle.data(), static_cast<size_t>(peer.handle_size)));
    return {mapped, static_cast<const std::byte*>(mapped.get()) + peer.offset};
  } catch (const c10::Error&) {
    cudaGetLastError();
    return nullptr;
  }
}

// The tensor outlives it.
std::shared_ptr<const std::byte> Own(const at::Tensor& buffer) {
  return {std::shared_ptr<void>(), static_cast<const std::byte*>(buffer.data_ptr())};
}

bool AllSay(NcclCommunicator& comm, bool yes, at::Device device) {
  const at::Tensor refusals =
      at::full({}, yes ? 0 : 1, at::TensorOptions().device(device).dtype(at::kLong));
  comm.Wait(comm.AllReduce(refusals));
  return refusals.item<int64_t>() == 0;
}

// The buffers of all ranks; empty on all where one can't map another's.
Buffers MapAll(NcclCommunicator& comm, const at::Tensor& buffer) {
  const auto bytes = at::TensorOptions().dtype(at::kByte);
  const Address own = AddressOf(buffer);
  const at::Tensor told = at::empty({sizeof own}, bytes);
  std::memcpy(told.data_ptr(), &own, sizeof own);
  const at::Tensor all = at::empty({comm.world_size() * static_cast<int64_t>(sizeof own)},
                                   bytes.device(buffer.device()));
  comm.Wait(comm.AllGather(all, told.to(buffer.device())));
  const at::Tensor heard = all.cpu();
  Buffers buffers;
  for (int64_t rank = 0; rank < comm.world_size(); ++rank) {
    Address peer;
    std::memcpy(&peer, heard.data_ptr<uint8_t>() + rank * static_cast<int64_t>(sizeof peer),
                sizeof peer);
    buffers.push_back(rank == comm.rank() ? Own(buffer) : Map(peer, own));
  }
  const bool mapped = std::ranges::all_of(buffers, [](const auto& it) { return it != nullptr; });
  return AllSay(comm, mapped, buffer.device()) ? buffers : Buffers{};
}

// ---- the two ways side by side ----

// The least milliseconds of a few gathers, summed over all ranks: the same on each.
double MillisecondsOf(NcclCommunicator& comm, const at::Tensor& output,
                      const std::function<Communicator::Ticket()>& gather) {
  double least = 0;
  for (int i = 0; i <= kProbes; ++i) {    // the first one warms up
    AllSay(comm, true, output.device());  // all begin together
    const auto begin = std::chrono::steady_clock::now();
    comm.Wait(gather());
    c10::cuda::stream_synchronize(c10::cuda::getCurrentCUDAStream());
    const std::chrono::duration<double, std::milli> taken =
        std::chrono::steady_clock::now() - begin;
    if (i == 1 || (i > 1 && taken.count() < least)) least = taken.count();
  }
  const at::Tensor sum = at::full({}, least, output.options().dtype(at::kDouble));
  comm.Wait(comm.AllReduce(sum));
  return sum.item<double>();
}

}  // namespace

std::unique_ptr<SharedShards> PeerShards::Make(NcclCommunicator& comm,
                                               const std::vector<int64_t>& numels,
                                               const at::TensorOptions& options) {
  int64_t total = 0;
  for (const int64_t numel : numels) total += numel;
  const at::Tensor buffer = MappableZeros(total, options);
  std::vector<at::Tensor> shards = Divide(buffer, numels);
  auto collective = std::make_unique<CollectiveShards>(comm, shards);
  if (total == 0) return collective;
  Buffers buffers = MapAll(comm, buffer);
  if (buffers.empty()) return collective;
  std::unique_ptr<PeerShards> copies(new PeerShards(comm, std::move(shards), std::move(buffers)));
  if (!copies->IsWorthIt(buffer)) return collective;
  return copies;
}

PeerShards::PeerShards(NcclCommunicator& comm, std::vector<at::Tensor> shards, Buffers buffers)
    : SharedShards(std::move(shards)),
      comm_(comm),
      buffers_(std::move(buffers)),
      meeting_(at::zeros({}, this->shards().front().options().dtype(at::kLong))) {}

// Whether copies bring what NCCL does, and about as fast.
bool PeerShards::IsWorthIt(const at::Tensor& buffer) {
  const at::Tensor own =
      buffer.narrow(0, 0, std::min<int64_t>(buffer.numel(), kProbeBytes / buffer.element_size()));
  own.fill_(comm_.rank() + 1);
  Publish();
  const at::Tensor by_nccl = at::empty({comm_.world_size() * own.numel()}, own.options()),
                   by_copies = at::zeros_like(by_nccl);
  const double nccl_time =
      MillisecondsOf(comm_, by_nccl, [&] { return comm_.AllGather(by_nccl, own); });
  const double copy_time =
      MillisecondsOf(comm_, by_copies, [&] { return Copy(0, own.nbytes(), by_copies); });
  const bool equal = AllSay(comm_, at::equal(by_nccl, by_copies), own.device());
  own.zero_();  // all have read it
  return equal && copy_time <= kMostTime * nccl_time;
}

void PeerShards::Publish() { comm_.AllReduce(meeting_); }

Communicator::Ticket PeerShards::Gather(size_t shard, const at::Tensor& output) {
  const at::Tensor& own = shards()[shard];
  CHECK(output.nbytes() == own.nbytes() * static_cast<size_t>(comm_.world_size()))
      << output.nbytes() << " bytes out, " << own.nbytes() << " of " << comm_.world_size()
      << " ranks";
  return Copy(static_cast<size_t>(own.storage_offset()) * own.element_size(), own.nbytes(), output);
}

// Each rank begins with another peer, so that no GPU is read by all. (Its own part on a stream of
// its own made a gather 20 % faster, and a step slower: each of its kernels began 1 us later.)
Communicator::Ticket PeerShards::Copy(size_t begin, size_t bytes, const at::Tensor& output) {
  return comm_.Issue({output}, [&](cudaStream_t stream) {
    auto* const out = static_cast<std::byte*>(output.data_ptr());
    for (int64_t i = 1; i <= comm_.world_size(); ++i) {
      const auto from = static_cast<size_t>((comm_.rank() + i) % comm_.world_size());
      C10_CUDA_CHECK(cudaMemcpyAsync(out + from * bytes, buffers_[from].get() + begin, bytes,
                                     cudaMemcpyDefault, stream));
    }
  });
}

}  // namespace trainctl::comm
