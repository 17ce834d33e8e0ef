// Rotary embedding of packed rows: a block a row, threads over (pieces of half a head) × (heads).
// So a thread keeps its angles while it walks over the heads. A pair is element d of a head's first
// half and element d of its second.
#include "worker/rank/ops/fused_launch.cuh"
#include "worker/rank/ops/fused_pack.cuh"

namespace trainctl::ops::fused {
namespace {

constexpr int kBlockThreads = 256;

// W neighbouring angles of one position.
template <int W>
struct Angles {
  __device__ Angles(const float* cos_row, const float* sin_row, int d)
      : cos(Load<W>(cos_row + d)), sin(Load<W>(sin_row + d)) {}
  Pack<float, W> cos, sin;
};

// (a, b) turned by sign · angle.
template <class T, int W>
__device__ void Rotate(const Angles<W>& angles, float sign, Pack<T, W>& a, Pack<T, W>& b) {
  for (int k = 0; k < W; ++k) {
    const float x = ToFloat(a.value[k]), y = ToFloat(b.value[k]);
    const float c = angles.cos.value[k], s = sign * angles.sin.value[k];
    a.value[k] = FromFloat<T>(x * c - y * s);
    b.value[k] = FromFloat<T>(y * c + x * s);
  }
}

template <class T, int W>
__global__ void __launch_bounds__(1024)
    ForwardKernel(T* qkv, const float* cos, const float* sin, int length, int rotated_heads,
                  int head_dim, int64_t row_elements) {
  AwaitPrevious();
  const int half = head_dim / 2;
  const int d = threadIdx.x * W;
  const int64_t position = blockIdx.x % length;
  const Angles<W> angles(cos + position * half, sin + position * half, d);
  T* row = qkv + blockIdx.x * row_elements;
  for (int head = threadIdx.y; head < rotated_heads; head += blockDim.y) {
    T* first = row + head * head_dim + d;
    auto a = Load<W>(first), b = Load<W>(first + half);
    Rotate(angles, 1.0f, a, b);
    Store(first, a);
    Store(first + half, b);
  }
}

// W elements from d on; one at a time where they are not neighbours.
template <int W, class T>
__device__ Pack<T, W> LoadStrided(const T* head, int64_t element_stride, int d) {
  if constexpr (W == 1) {
    return {head[d * element_stride]};
  } else {
    return Load<W>(head + d);
  }
}

// By its fields: a choice between whole structs would go through memory.
__device__ StridedHeads Choose(bool is_q, bool is_v, const StridedHeads& q, const StridedHeads& k,
                               const StridedHeads& v) {
  return {is_q   ? q.data
          : is_v ? v.data
                 : k.data,
          is_q   ? q.batch_stride
          : is_v ? v.batch_stride
                 : k.batch_stride,
          is_q   ? q.head_stride
          : is_v ? v.head_stride
                 : k.head_stride,
          is_q   ? q.position_stride
          : is_v ? v.position_stride
                 : k.position_stride,
          is_q   ? q.element_stride
          : is_v ? v.element_stride
                 : k.element_stride};
}

template <class T, int W>
__global__ void __launch_bounds__(1024)
    BackwardKernel(StridedHeads q, StridedHeads k, StridedHeads v, T* qkv_grad, const float* cos,
                   const float* sin, int length, int heads, int kv_heads, int head_dim) {
  AwaitPrevious();
  const int half = head_dim / 2;
  const int d = threadIdx.x * W;
  const int64_t sample = blockIdx.x / length, position = blockIdx.x % length;
  const Angles<W> angles(cos + position * half, sin + position * half, d);
  const int all_heads = heads + 2 * kv_heads;
  T* row = qkv_grad + static_cast<int64_t>(blockIdx.x) * all_heads * head_dim;
  for (int head = threadIdx.y; head < all_heads; head += blockDim.y) {
    const bool is_q = head < heads, is_v = head >= heads + kv_heads;
    const StridedHeads grad = Choose(is_q, is_v, q, k, v);
    const int own_head = is_q ? head : is_v ? head - heads - kv_heads : head - heads;
    const T* from = static_cast<const T*>(grad.data) + sample * grad.batch_stride +
                    own_head * grad.head_stride + position * grad.position_stride;
    auto a = LoadStrided<W>(from, grad.element_stride, d),
         b = LoadStrided<W>(from, grad.element_stride, d + half);
    if (!is_v) {
      Rotate(angles, -1.0f, a, b);
    }
    T* first = row + head * head_dim + d;
    Store(first, a);
    Store(first + half, b);
  }
}

// Nothing is rotated: a thread has a piece of a whole head.
template <class T, int W>
__global__ void __launch_bounds__(1024)
    PackKernel(StridedHeads q, StridedHeads k, StridedHeads v, T* qkv_grad, int length, int heads,
               int kv_heads, int head_dim) {
  AwaitPrevious();
  const int d = threadIdx.x * W;
  const int64_t sample = blockIdx.x / length, position = blockIdx.x % length;
  const int all_heads = heads + 2 * kv_heads;
  T* row = qkv_grad + static_cast<int64_t>(blockIdx.x) * all_heads * head_dim;
  for (int head = threadIdx.y; head < all_heads; head += blockDim.y) {
    const bool is_q = head < heads, is_v = head >= heads + kv_heads;
    const StridedHeads grad = Choose(is_q, is_v, q, k, v);
    const int own_head = is_q ? head : is_v ? head - heads - kv_heads : head - heads;
    const T* from = static_cast<const T*>(grad.data) + sample * grad.batch_stride +
                    own_head * grad.head_stride + position * grad.position_stride;
    Store(row + head * head_dim + d, LoadStrided<W>(from, grad.element_stride, d));
  }
}

// Pieces of what is taken of a head, in x; as many heads at once as fill the block, in y.
dim3 BlockShape(int64_t elements, int width, int64_t heads) {
  const auto pieces = static_cast<unsigned>(elements / width);
  const auto at_once = std::clamp<int64_t>(kBlockThreads / pieces, 1, heads);
  return dim3(pieces, static_cast<unsigned>(at_once));
}

bool IsSupported(const PackedHeads& h) {
  return h.batch >= 0 && h.length >= 0 && h.batch * h.length <= INT32_MAX && h.heads > 0 &&
         h.kv_heads > 0 && h.head_dim > 0 && h.head_dim % 2 == 0 && h.head_dim <= 2048;
}

bool Divides(const StridedHeads& grad, int width) {
  return IsAligned(grad.data) && grad.element_stride == 1 && grad.batch_stride % width == 0 &&
         grad.head_stride % width == 0 && grad.position_stride % width == 0;
}

// The widest piece that divides what is taken of a head. Of half a head: 8 for D = 128, 2 for D =
// 100.
int WidthOf(const PackedHeads& h, const void* packed) {
  const bool aligned = IsAligned(packed) && IsAligned(h.cos) && IsAligned(h.sin);
  const int64_t taken = h.cos != nullptr ? h.head_dim / 2 : h.head_dim;
  return !aligned ? 1 : taken % kWide == 0 ? kWide : taken % 2 == 0 ? 2 : 1;
}

int WidthOf(const PackedHeads& h, const StridedHeads& q, const StridedHeads& k,
            const StridedHeads& v, const void* packed) {
  const int width = WidthOf(h, packed);
  const auto fits = [&](int w) { return Divides(q, w) && Divides(k, w) && Divides(v, w); };
  return fits(width) ? width : width > 2 && fits(2) ? 2 : 1;
}

template <class T, int W>
cudaError_t LaunchForward(const PackedHeads& h, void* qkv, cudaStream_t stream) {
  const int64_t rotated = h.heads + h.kv_heads;
  return Launch(ForwardKernel<T, W>, Grid(h.batch * h.length),
                BlockShape(h.head_dim / 2, W, rotated), stream, static_cast<T*>(qkv), h.cos, h.sin,
                h.length, rotated, h.head_dim, (rotated + h.kv_heads) * h.head_dim);
}

template <class T, int W>
cudaError_t LaunchBackward(const PackedHeads& h, const StridedHeads& q, const StridedHeads& k,
                           const StridedHeads& v, void* qkv_grad, cudaStream_t stream) {
  if (h.cos == nullptr) {
    return Launch(PackKernel<T, W>, Grid(h.batch * h.length),
                  BlockShape(h.head_dim, W, h.heads + 2 * h.kv_heads), stream, q, k, v,
                  static_cast<T*>(qkv_grad), h.length, h.heads, h.kv_heads, h.head_dim);
  }
  return Launch(BackwardKernel<T, W>, Grid(h.batch * h.length),
                BlockShape(h.head_dim / 2, W, h.heads + 2 * h.kv_heads), stream, q, k, v,
                static_cast<T*>(qkv_grad), h.cos, h.sin, h.length, h.heads, h.kv_heads, h.head_dim);
}

}  // namespace

cudaError_t RopeForward(const PackedHeads& h, void* qkv, cudaStream_t stream) {
  if (!IsSupported(h) || h.cos == nullptr) {
    return cudaErrorInvalidValue;
  }
  if (h.batch * h.length == 0) {
    return cudaSuccess;
  }
  return ForType(h.element, [&](auto tag) {
    using T = decltype(tag);
    switch (WidthOf(h, qkv)) {
      case kWide: return LaunchForward<T, kWide>(h, qkv, stream);
      case 2: return LaunchForward<T, 2>(h, qkv, stream);
      default: return LaunchForward<T, 1>(h, qkv, stream);
    }
  });
}

cudaError_t RopeBackward(const PackedHeads& h, const StridedHeads& q, const StridedHeads& k,
                         const StridedHeads& v, void* qkv_grad, cudaStream_t stream) {
  if (!IsSupported(h)) {
    return cudaErrorInvalidValue;
  }
  if (h.batch * h.length == 0) {
    return cudaSuccess;
  }
  return ForType(h.element, [&](auto tag) {
    using T = decltype(tag);
    switch (WidthOf(h, q, k, v, qkv_grad)) {
      case kWide: return LaunchBackward<T, kWide>(h, q, k, v, qkv_grad, stream);
      case 2: return LaunchBackward<T, 2>(h, q, k, v, qkv_grad, stream);
      default: return LaunchBackward<T, 1>(h, q, k, v, qkv_grad, stream);
    }
  });
}

}  // namespace trainctl::ops::fused
