#include "worker/rank/state/initial_weights.h"

#include <ATen/Context.h>
#include <ATen/ops/empty.h>

#include <cmath>

#include "worker/rank/state/tensor_piece.h"

namespace trainctl::train {
namespace {

constexpr double kInitialDeviation = 0.02;
constexpr uint64_t kSeedStride = 1'000'003;
constexpr uint64_t kAdapterSeeds = uint64_t{1}
                                   << 62;  // apart from those of the model's own tensors

void Fill(const at::Tensor& values, ops::Init init, uint64_t seed) {
  at::manual_seed(seed);
  const double bound = 1 / std::sqrt(static_cast<double>(values.size(-1)));
  switch (init) {
    case ops::Init::kNormal: values.normal_(0, kInitialDeviation); break;
    case ops::Init::kOnes: values.fill_(1); break;
    case ops::Init::kZeros: values.zero_(); break;
    case ops::Init::kKaimingUniform: values.uniform_(-bound, bound); break;
  }
}

void Initialize(uint64_t first_seed, bool adapters, const ops::ParameterTable& table,
                at::Device device, strategy::Strategy& strategy, const ByteProgress& progress) {
  constexpr int64_t kBytes = sizeof(float);
  const int64_t total = Numel(table, adapters) * kBytes;
  uint64_t tensor = 0;
  int64_t done = 0;
  for (size_t param = 0; param < table.params.size(); ++param) {
    const ops::ParamSpec& spec = table.params[param];
    if (spec.adapter != adapters) continue;
    for (const ops::ParamPiece& piece : spec.pieces) {
      const at::Tensor values =
          at::empty(PieceShape(spec, piece), at::TensorOptions().device(device).dtype(at::kFloat));
      Fill(values, spec.init, first_seed + tensor++);
      strategy.SetRows(static_cast<ops::ParamId>(param), piece.row, values);
    }
    progress(done += spec.numel() * kBytes, total);
  }
}

}  // namespace

void InitializeRandom(int64_t seed, const ops::ParameterTable& table, at::Device device,
                      strategy::Strategy& strategy, const ByteProgress& progress) {
  Initialize(static_cast<uint64_t>(seed) * kSeedStride, false, table, device, strategy, progress);
}

void InitializeAdapters(int64_t seed, const ops::ParameterTable& table, at::Device device,
                        strategy::Strategy& strategy) {
  Initialize(static_cast<uint64_t>(seed) * kSeedStride + kAdapterSeeds, true, table, device,
             strategy, [](int64_t, int64_t) {});
}

}  // namespace trainctl::train
