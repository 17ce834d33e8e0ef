// Attention of few queries: a block has a head of a sample, whose scores fit its shared memory
// whole.
#include <initializer_list>

#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_tiles.cuh"
#include "worker/rank/ops/philox.h"

namespace trainctl::ops::fused {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / kWarp;
constexpr int kQueries = 32, kDim = 64, kDimTiles = kDim / kTile;  // queries: at most
constexpr int kDimLd = kDim + 8;

using Element = TileElement;

// Bytes of a matrix in shared memory.
constexpr int kOfQueries = kQueries * kDimLd * static_cast<int>(sizeof(Element));
__host__ __device__ inline int OfKeys(int64_t keys) {
  return Tiles(keys) * kTile * kDimLd * static_cast<int>(sizeof(Element));
}
template <class T>
int OfScores(int64_t keys) {
  return kQueries * LeadingDimension(keys) * static_cast<int>(sizeof(T));
}
constexpr int kOfTiles = kWarps * kTile * kTile * static_cast<int>(sizeof(float));

int ForwardBytes(int64_t keys) {
  return kOfQueries + OfKeys(keys) + OfScores<float>(keys) + OfScores<Element>(keys) + kOfTiles;
}
int BackwardBytes(int64_t keys) {
  return 2 * kOfQueries + OfKeys(keys) + 2 * OfScores<Element>(keys) + kOfTiles +
         kQueries * static_cast<int>(sizeof(float));
}

// Which probabilities of a head are kept, and by what factor.
class Keeping {
 public:
  __device__ Keeping(const CrossAttention& s, int64_t sample, int64_t head)
      : seed_(s.seed),
        sample_(s.samples == nullptr ? 0 : static_cast<uint64_t>(s.samples[sample])),
        module_(s.module),
        threshold_(s.samples == nullptr ? 0 : s.threshold),
        scale_(s.samples == nullptr ? 1.0f : s.scale),
        first_(static_cast<uint64_t>(head) * s.queries * s.keys) {}

  // Of an element of the head; neighbours are asked for in turn.
  __device__ float Factor(int64_t element) {
    if (threshold_ == 0) {
      return scale_;
    }
    const uint64_t number = first_ + static_cast<uint64_t>(element);
    if (number / kDropoutGroup != group_) {
      group_ = number / kDropoutGroup;
      words_ = DropoutWords(seed_, sample_, module_, group_);
    }
    return DropoutKeeps(words_, static_cast<int>(number % kDropoutGroup), threshold_) ? scale_
                                                                                      : 0.0f;
  }

 private:
  uint64_t seed_, sample_;
  uint32_t module_, threshold_;
  float scale_;
  uint64_t first_, group_ = ~uint64_t{0};
  base::PhiloxWords words_;
};

// Where a block's head lies in the tensors.
struct HeadPlace {
  int64_t sample, head, q, k, v, scores;  // first elements
  int64_t q_stride, kv_stride;

  __device__ explicit HeadPlace(const CrossAttention& s)
      : sample(blockIdx.x / s.heads),
        head(blockIdx.x % s.heads),
        q_stride(s.heads * kDim),
        kv_stride(2 * s.heads * kDim) {
    q = sample * s.queries * q_stride + head * kDim;
    k = sample * s.keys * kv_stride + head * kDim;
    v = k + q_stride;
    scores = static_cast<int64_t>(blockIdx.x) * s.queries * s.keys;
  }
};

__global__ void __launch_bounds__(kThreads)
    ForwardKernel(CrossAttention s, const Element* q, const Element* key_value, Element* out,
                  Element* probabilities) {
  AwaitPrevious();
  extern __shared__ __align__(128) unsigned char shared[];
  const int tiles = Tiles(s.keys), ld = LeadingDimension(s.keys), keys = static_cast<int>(s.keys);
  auto* const queries = reinterpret_cast<Element*>(shared);
  auto* const rows = reinterpret_cast<Element*>(shared + kOfQueries);  // of keys, then of values
  auto* const scores = reinterpret_cast<float*>(shared + kOfQueries + OfKeys(s.keys));
  auto* const kept = reinterpret_cast<Element*>(scores + kQueries * ld);
  const TileOfWarp own(reinterpret_cast<float*>(kept + kQueries * ld));
  const HeadPlace place(s);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = threadIdx.x % kWarp;

  ReadTiles(queries, q + place.q, place.q_stride, s.queries, kQueries, kDim);
  ReadTiles(rows, key_value + place.k, place.kv_stride, s.keys, tiles * kTile, kDim);
  __syncthreads();
  for (int i = warp; i < 2 * tiles; i += kWarps) {
    const int row = i / tiles * kTile, column = i % tiles * kTile;
    const TileProduct product =
        Multiply<RowMajor, Transposed>({queries + row * kDimLd, kDimLd, kTile},
                                       {rows + column * kDimLd, kDimLd, kTile}, kDimTiles);
    nvcuda::wmma::store_matrix_sync(scores + row * ld + column, product, ld,
                                    nvcuda::wmma::mem_row_major);
  }
  __syncthreads();
  ReadTiles(rows, key_value + place.v, place.kv_stride, s.keys, tiles * kTile, kDim);
  // A warp has a query, a lane neighbouring keys.
  const int count = (tiles * kTile + kWarp - 1) / kWarp;
  const int first = lane * count, end = min(first + count, keys);
  for (int query = warp; query < kQueries; query += kWarps) {
    Element* const kept_row = kept + query * ld;
    if (query >= s.queries) {
      for (int key = lane; key < tiles * kTile; key += kWarp) {
        kept_row[key] = FromFloat<Element>(0);
      }
      continue;
    }
    const float* const row = scores + query * ld;
    float most = -INFINITY;
    for (int key = first; key < end; ++key) {
      most = fmaxf(most, row[key]);
    }
    most = WarpMax(most);
    float sum = 0;
    for (int key = first; key < end; ++key) {
      sum += __expf((row[key] - most) * s.softmax_scale);
    }
    const float inverse = 1.0f / WarpSum(sum);
    Keeping keeping(s, place.sample, place.head);
    for (int key = first; key < min(first + count, tiles * kTile); ++key) {
      float factor = 0, probability = 0;
      if (key < keys) {
        const int64_t element = static_cast<int64_t>(query) * keys + key;
        const Element rounded =
            FromFloat<Element>(__expf((row[key] - most) * s.softmax_scale) * inverse);
        probabilities[place.scores + element] = rounded;
        probability = ToFloat(rounded);
        factor = keeping.Factor(element);
      }
      kept_row[key] = FromFloat<Element>(probability * factor);
    }
  }
  __syncthreads();
  for (int i = warp; i < 2 * kDimTiles; i += kWarps) {
    const int row = i / kDimTiles * kTile, column = i % kDimTiles * kTile;
    own.Put(Multiply<RowMajor, RowMajor>({kept + row * ld, ld, kTile},
                                         {rows + column, kDimLd, kTile * kDimLd}, tiles));
    own.Write(out + place.q + row * place.q_stride + column, place.q_stride, s.queries - row,
              kTile);
  }
}

__global__ void __launch_bounds__(kThreads)
    BackwardKernel(CrossAttention s, const Element* q, const Element* key_value, const Element* out,
                   const Element* probabilities, const Element* grad, Element* q_grad,
                   Element* key_value_grad) {
  AwaitPrevious();
  extern __shared__ __align__(128) unsigned char shared[];
  const int tiles = Tiles(s.keys), ld = LeadingDimension(s.keys), keys = static_cast<int>(s.keys);
  auto* const queries = reinterpret_cast<Element*>(shared);
  auto* const grads = queries + kQueries * kDimLd;
  auto* const rows = grads + kQueries * kDimLd;  // of values, then of keys
  auto* const kept = rows + tiles * kTile * kDimLd;
  auto* const score_grads = kept + kQueries * ld;
  const TileOfWarp own(reinterpret_cast<float*>(score_grads + kQueries * ld));
  float* const dots =
      reinterpret_cast<float*>(score_grads + kQueries * ld) + kWarps * kTile * kTile;
  const HeadPlace place(s);
  const int warp = static_cast<int>(threadIdx.x) / kWarp, lane = threadIdx.x % kWarp;

  ReadTiles(queries, q + place.q, place.q_stride, s.queries, kQueries, kDim);
  ReadTiles(grads, grad + place.q, place.q_stride, s.queries, kQueries, kDim);
  ReadTiles(rows, key_value + place.v, place.kv_stride, s.keys, tiles * kTile, kDim);
  // Σ over keys of probability · its gradient = output · its gradient.
  for (int query = warp; query < kQueries; query += kWarps) {
    float dot = 0;
    for (int column = lane; query < s.queries && column < kDim; column += kWarp) {
      const int64_t element = place.q + query * place.q_stride + column;
      dot += ToFloat(out[element]) * ToFloat(grad[element]);
    }
    dot = WarpSum(dot);
    if (lane == 0) {
      dots[query] = dot;
    }
  }
  __syncthreads();
  for (int i = warp; i < 2 * tiles; i += kWarps) {
    const int row = i / tiles * kTile, column = i % tiles * kTile;
    own.Put(Multiply<RowMajor, Transposed>({grads + row * kDimLd, kDimLd, kTile},
                                           {rows + column * kDimLd, kDimLd, kTile}, kDimTiles));
    const int query = row + TileOfWarp::Row(), first = column + TileOfWarp::Column();
    Keeping keeping(s, place.sample, place.head);
    Pack<Element, kWide> of_kept, of_scores;
#pragma unroll
    for (int k = 0; k < kWide; ++k) {
      float probability = 0, factor = 0;
      if (query < s.queries && first + k < keys) {
        const int64_t element = static_cast<int64_t>(query) * keys + first + k;
        probability = ToFloat(probabilities[place.scores + element]);
        factor = keeping.Factor(element);
      }
      of_kept.value[k] = FromFloat<Element>(probability * factor);
      of_scores.value[k] =
          FromFloat<Element>(probability * s.softmax_scale * (own.Own()[k] * factor - dots[query]));
    }
    Store(kept + query * ld + first, of_kept);
    Store(score_grads + query * ld + first, of_scores);
  }
  __syncthreads();
  ReadTiles(rows, key_value + place.k, place.kv_stride, s.keys, tiles * kTile, kDim);
  for (int i = warp; key_value_grad != nullptr && i < tiles * kDimTiles; i += kWarps) {
    const int row = i / kDimTiles * kTile, column = i % kDimTiles * kTile;
    const int64_t to = row * place.kv_stride + column;
    own.Put(Multiply<Transposed, RowMajor>({score_grads + row, ld, kTile * ld},
                                           {queries + column, kDimLd, kTile * kDimLd},
                                           kQueries / kTile));
    own.Write(key_value_grad + place.k + to, place.kv_stride, s.keys - row, kTile);
    own.Put(Multiply<Transposed, RowMajor>(
        {kept + row, ld, kTile * ld}, {grads + column, kDimLd, kTile * kDimLd}, kQueries / kTile));
    own.Write(key_value_grad + place.v + to, place.kv_stride, s.keys - row, kTile);
  }
  __syncthreads();
  for (int i = warp; i < 2 * kDimTiles; i += kWarps) {
    const int row = i / kDimTiles * kTile, column = i % kDimTiles * kTile;
    own.Put(Multiply<RowMajor, RowMajor>({score_grads + row * ld, ld, kTile},
                                         {rows + column, kDimLd, kTile * kDimLd}, tiles));
    own.Write(q_grad + place.q + row * place.q_stride + column, place.q_stride, s.queries - row,
              kTile);
  }
}

template <class... Parameters, class... Arguments>
cudaError_t LaunchHeads(void (*kernel)(Parameters...), int bytes, const CrossAttention& s,
                        cudaStream_t stream, Arguments... arguments) {
  const cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error != cudaSuccess) {
    return error;
  }
  return Launch(kernel,
                LaunchShape{.grid = Grid(s.batch * s.heads),
                            .block = kThreads,
                            .shared_bytes = static_cast<size_t>(bytes)},
                stream, s, arguments...);
}

bool AreAligned(std::initializer_list<const void*> pointers) {
  return std::all_of(pointers.begin(), pointers.end(), IsAligned);
}

}  // namespace

bool HasCrossAttention(Type element, int64_t queries, int64_t keys, int64_t head_dim) {
  return element == Type::kBf16 && queries > 0 && queries <= kQueries && keys > 0 &&
         head_dim == kDim && keys <= kMostShared &&
         std::max(ForwardBytes(keys), BackwardBytes(keys)) <= kMostShared;
}

cudaError_t CrossAttentionForward(const CrossAttention& s, const void* q, const void* key_value,
                                  void* out, void* probabilities, cudaStream_t stream) {
  if (!HasCrossAttention(Type::kBf16, s.queries, s.keys, kDim) || s.batch < 0 || s.heads <= 0 ||
      !AreAligned({q, key_value, out})) {
    return cudaErrorInvalidValue;
  }
  if (s.batch == 0) {
    return cudaSuccess;
  }
  return LaunchHeads(ForwardKernel, ForwardBytes(s.keys), s, stream, static_cast<const Element*>(q),
                     static_cast<const Element*>(key_value), static_cast<Element*>(out),
                     static_cast<Element*>(probabilities));
}

cudaError_t CrossAttentionBackward(const CrossAttention& s, const CrossAttentionGrad& g,
                                   cudaStream_t stream) {
  if (!HasCrossAttention(Type::kBf16, s.queries, s.keys, kDim) || s.batch < 0 || s.heads <= 0 ||
      !AreAligned({g.q, g.key_value, g.grad, g.q_grad, g.key_value_grad})) {
    return cudaErrorInvalidValue;
  }
  if (s.batch == 0) {
    return cudaSuccess;
  }
  return LaunchHeads(
      BackwardKernel, BackwardBytes(s.keys), s, stream, static_cast<const Element*>(g.q),
      static_cast<const Element*>(g.key_value), static_cast<const Element*>(g.out),
      static_cast<const Element*>(g.probabilities), static_cast<const Element*>(g.grad),
      static_cast<Element*>(g.q_grad), static_cast<Element*>(g.key_value_grad));
}

}  // namespace trainctl::ops::fused
