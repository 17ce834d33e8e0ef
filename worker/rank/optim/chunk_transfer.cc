#include "worker/rank/optim/chunk_transfer.h"

#include "worker/rank/optim/cuda_transfer.h"

namespace trainctl::optim {
namespace {

AdamOut OutType(const at::Tensor& compute) {
  if (!compute.defined()) return AdamOut::kNone;
  return compute.scalar_type() == at::kBFloat16 ? AdamOut::kBf16 : AdamOut::kF32;
}

// Gradient and compute copy are in the host's memory already.
class DirectTransfer : public ChunkTransfer {
 public:
  void MarkReady(HostUpdate&) override {}
  void Join() override {}
  void Fetch(size_t, const Chunk&) override {}
  Fetched Await(size_t, const Chunk& chunk) override {
    const HostUpdate& update = *chunk.update;
    const AdamTile whole{.count = update.master.numel(),
                         .master = update.master.data_ptr<float>(),
                         .first = update.first.data_ptr<float>(),
                         .second = update.second.data_ptr<float>(),
                         .bf16_grad = update.grad.scalar_type() == at::kBFloat16,
                         .grad = update.grad.const_data_ptr(),
                         .out_type = OutType(update.compute),
                         .out = update.compute.defined() ? update.compute.data_ptr() : nullptr};
    return {whole.Part(chunk.begin, chunk.begin + chunk.count),
            update.grad_scale.defined() ? *update.grad_scale.const_data_ptr<float>() : 1};
  }
  void Return(size_t, const Chunk&) override {}
  bool copies() const override { return false; }
};

}  // namespace

std::unique_ptr<ChunkTransfer> MakeChunkTransfer(c10::Device device) {
  if (device.is_cuda()) return std::make_unique<CudaTransfer>(device);
  return std::make_unique<DirectTransfer>();
}

}  // namespace trainctl::optim
