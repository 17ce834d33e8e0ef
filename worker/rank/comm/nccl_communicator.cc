#include "worker/rank/comm/nccl_communicator.h"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>

#include "common/base/check.h"
#include "worker/rank/comm/hex.h"
#include "worker/rank/comm/peer_shards.h"

namespace trainctl::comm {
namespace {

ncclDataType_t TypeOf(const at::Tensor& tensor) {
  switch (tensor.scalar_type()) {
    case at::kBFloat16: return ncclBfloat16;
    case at::kFloat: return ncclFloat32;
    case at::kDouble: return ncclFloat64;
    case at::kLong: return ncclInt64;
    default: break;
  }
  CHECK(false) << "NCCL adds bf16, fp32, fp64 and int64 here, not "
               << c10::toString(tensor.scalar_type());
  return ncclFloat32;
}

ncclUniqueId MakeUniqueId() {
  ncclUniqueId id;
  const ncclResult_t result = ncclGetUniqueId(&id);
  if (result != ncclSuccess) {
    throw CommError(std::string("NCCL gave no unique id: ") + ncclGetErrorString(result) + ", " +
                    ncclGetLastError(nullptr));
  }
  return id;
}

cudaEvent_t MakeEvent() {
  cudaEvent_t event;
  C10_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
  return event;
}

}  // namespace

std::unique_ptr<Communicator> JoinNccl(const JoinOptions& options) {
  ncclUniqueId id;
  const std::span<std::byte> bytes = std::as_writable_bytes(std::span(id.internal));
  if (options.rank == 0) {
    id = MakeUniqueId();
    options.publish(ToHex(bytes));
  } else if (!FromHex(options.await_blob(), bytes)) {
    throw CommError("the rendezvous blob is no NCCL unique id: expected " +
                    std::to_string(2 * bytes.size()) + " hex digits");
  }
  return std::make_unique<NcclCommunicator>(options, id, c10::cuda::current_device());
}

NcclCommunicator::NcclCommunicator(const JoinOptions& options, const ncclUniqueId& id, int device)
    : rank_(options.rank),
      world_size_(options.world_size),
      reads_peers_(options.reads_peers),
      stream_(c10::cuda::getStreamFromPool(/*isHighPriority=*/true,
                                           static_cast<c10::DeviceIndex>(device))),
      group_(options, id, device) {
  inputs_ready_ = MakeEvent();
  for (cudaEvent_t& event : finished_) {
    event = MakeEvent();
  }
}

NcclCommunicator::~NcclCommunicator() {
  cudaEventDestroy(inputs_ready_);
  for (cudaEvent_t event : finished_) {
    cudaEventDestroy(event);
  }
}

Communicator::Ticket NcclCommunicator::AllReduce(const at::Tensor& tensor) {
  return Call("all-reduce", {tensor}, [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclAllReduce(tensor.data_ptr(), tensor.data_ptr(), static_cast<size_t>(tensor.numel()),
                         TypeOf(tensor), ncclSum, comm, stream);
  });
}

Communicator::Ticket NcclCommunicator::AllGather(const at::Tensor& output,
                                                 const at::Tensor& input) {
  CHECK(output.numel() == input.numel() * world_size_ &&
        output.scalar_type() == input.scalar_type())
      << output.numel() << " elements out, " << input.numel() << " in, " << world_size_ << " ranks";
  return Call("all-gather", {output, input}, [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclAllGather(input.data_ptr(), output.data_ptr(), input.nbytes(), ncclUint8, comm,
                         stream);
  });
}

Communicator::Ticket NcclCommunicator::ReduceScatter(const at::Tensor& output,
                                                     const at::Tensor& input) {
  CHECK(input.numel() == output.numel() * world_size_ &&
        output.scalar_type() == input.scalar_type())
      << output.numel() << " elements out, " << input.numel() << " in, " << world_size_ << " ranks";
  return Call("reduce-scatter", {output, input}, [&](ncclComm_t comm, cudaStream_t stream) {
    const auto count = static_cast<size_t>(output.numel());
    return ncclReduceScatter(input.data_ptr(), output.data_ptr(), count, TypeOf(input), ncclSum,
                             comm, stream);
  });
}

Communicator::Ticket NcclCommunicator::Broadcast(const at::Tensor& tensor, int64_t root) {
  return Call("broadcast", {tensor}, [&](ncclComm_t comm, cudaStream_t stream) {
    return ncclBroadcast(tensor.data_ptr(), tensor.data_ptr(), tensor.nbytes(), ncclUint8,
                         static_cast<int>(root), comm, stream);
  });
}

// The event covers the collective only because Enqueue returns after NCCL has put it on the stream.
Communicator::Ticket NcclCommunicator::Call(const char* name,
                                            std::initializer_list<at::Tensor> tensors,
                                            const Operation& operation) {
  return Issue(tensors, [&](cudaStream_t stream) {
    group_.Enqueue(name, [&](ncclComm_t comm) { return operation(comm, stream); });
  });
}

Communicator::Ticket NcclCommunicator::Issue(std::initializer_list<at::Tensor> tensors,
                                             const Work& work) {
  const cudaStream_t caller = c10::cuda::getCurrentCUDAStream(stream_.device_index()).stream();
  C10_CUDA_CHECK(cudaEventRecord(inputs_ready_, caller));
  C10_CUDA_CHECK(cudaStreamWaitEvent(stream_.stream(), inputs_ready_, 0));
  for (const at::Tensor& tensor : tensors) {
    CHECK(tensor.is_cuda() && tensor.is_contiguous())
        << "collectives of GPU ranks take contiguous CUDA tensors";
  }
  work(stream_.stream());
  const Ticket ticket = ++issued_;
  C10_CUDA_CHECK(cudaEventRecord(finished_[ticket % kEvents], stream_.stream()));
  return ticket;
}

std::unique_ptr<SharedShards> NcclCommunicator::MakeShards(const std::vector<int64_t>& numels,
                                                           const at::TensorOptions& options) {
  return reads_peers_ ? PeerShards::Make(*this, numels, options)
                      : Communicator::MakeShards(numels, options);
}

void NcclCommunicator::Wait(Ticket ticket) {
  CHECK(ticket <= issued_) << "ticket " << ticket << " of " << issued_;
  const cudaStream_t caller = c10::cuda::getCurrentCUDAStream(stream_.device_index()).stream();
  C10_CUDA_CHECK(cudaStreamWaitEvent(caller, finished_[ticket % kEvents], 0));
}

}  // namespace trainctl::comm
