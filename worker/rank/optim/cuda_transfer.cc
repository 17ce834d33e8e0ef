#include "worker/rank/optim/cuda_transfer.h"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace trainctl::optim {
namespace {

// Sleeps where it is waited for: the CPU has better things to do than to spin.
cudaEvent_t MakeEvent() {
  cudaEvent_t event = nullptr;
  C10_CUDA_CHECK(cudaEventCreateWithFlags(&event, cudaEventDisableTiming | cudaEventBlockingSync));
  return event;
}

void Copy(void* to, const void* from, int64_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
  C10_CUDA_CHECK(cudaMemcpyAsync(to, from, static_cast<size_t>(bytes), kind, stream));
}

}  // namespace

CudaTransfer::CudaTransfer(c10::Device device)
    : staging_(kSlotBytes * static_cast<int64_t>(kSlots), device, /*pinned=*/true,
               "the offloaded optimizer's staging memory") {
  const c10::cuda::CUDAGuard guard(device);
  C10_CUDA_CHECK(cudaStreamCreateWithFlags(&down_, cudaStreamNonBlocking));
  C10_CUDA_CHECK(cudaStreamCreateWithFlags(&up_, cudaStreamNonBlocking));
  for (size_t slot = 0; slot < kSlots; ++slot) {
    fetched_[slot] = MakeEvent();
    returned_[slot] = MakeEvent();
  }
  all_returned_ = MakeEvent();
}

CudaTransfer::~CudaTransfer() {
  for (const cudaStream_t stream : {down_, up_}) {
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
  }
  for (size_t slot = 0; slot < kSlots; ++slot) {
    cudaEventDestroy(fetched_[slot]);
    cudaEventDestroy(returned_[slot]);
  }
  cudaEventDestroy(all_returned_);
}

void CudaTransfer::MarkReady(HostUpdate& update) { update.ready.record(); }

void CudaTransfer::Join() {
  C10_CUDA_CHECK(cudaEventRecord(all_returned_, up_));
  C10_CUDA_CHECK(cudaStreamWaitEvent(c10::cuda::getCurrentCUDAStream(), all_returned_));
}

void CudaTransfer::Fetch(size_t slot, const Chunk& chunk) {
  const HostUpdate& update = *chunk.update;
  const int64_t size = update.grad.element_size();
  if (chunk.begin == 0) C10_CUDA_CHECK(cudaStreamWaitEvent(down_, update.ready.event()));
  Copy(Grad(slot), static_cast<const char*>(update.grad.const_data_ptr()) + chunk.begin * size,
       chunk.count * size, cudaMemcpyDeviceToHost, down_);
  if (update.grad_scale.defined()) {
    Copy(Scale(slot), update.grad_scale.const_data_ptr(), sizeof(float), cudaMemcpyDeviceToHost,
         down_);
  }
  C10_CUDA_CHECK(cudaEventRecord(fetched_[slot], down_));
}

ChunkTransfer::Fetched CudaTransfer::Await(size_t slot, const Chunk& chunk) {
  const HostUpdate& update = *chunk.update;
  C10_CUDA_CHECK(cudaEventSynchronize(fetched_[slot]));
  C10_CUDA_CHECK(cudaEventSynchronize(returned_[slot]));  // what the slot sent last time
  const bool stages = update.compute.defined() && update.compute.scalar_type() == at::kBFloat16;
  return {{.count = chunk.count,
           .master = update.master.data_ptr<float>() + chunk.begin,
           .first = update.first.data_ptr<float>() + chunk.begin,
           .second = update.second.data_ptr<float>() + chunk.begin,
           .bf16_grad = update.grad.scalar_type() == at::kBFloat16,
           .grad = Grad(slot),
           .out_type = stages ? AdamOut::kBf16 : AdamOut::kNone,
           .out = stages ? Out(slot) : nullptr},
          update.grad_scale.defined() ? *Scale(slot) : 1};
}

void CudaTransfer::Return(size_t slot, const Chunk& chunk) {
  const HostUpdate& update = *chunk.update;
  if (!update.compute.defined()) return;
  const int64_t size = update.compute.element_size();
  const bool stages = update.compute.scalar_type() == at::kBFloat16;
  const void* from = stages ? static_cast<const void*>(Out(slot))
                            : update.master.const_data_ptr<float>() + chunk.begin;
  Copy(static_cast<char*>(update.compute.data_ptr()) + chunk.begin * size, from, chunk.count * size,
       cudaMemcpyHostToDevice, up_);
  C10_CUDA_CHECK(cudaEventRecord(returned_[slot], up_));
}

}  // namespace trainctl::optim
