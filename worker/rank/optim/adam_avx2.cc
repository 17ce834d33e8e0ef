// Compiled for AVX2 and FMA: includes nothing whose inline functions other files share.
#include <immintrin.h>

#include "worker/rank/optim/adam_kernel.h"
#include "worker/rank/optim/adam_lanes.h"

namespace trainctl::optim {
namespace {

struct Avx2Lanes {
  using Floats = __m256;
  static constexpr int64_t kWidth = 8;

  static __m256 Load(const float* from) { return _mm256_loadu_ps(from); }
  static void Store(float* to, __m256 value) { _mm256_storeu_ps(to, value); }
  static void Stream(float* to, __m256 value) { _mm256_stream_ps(to, value); }
  static __m256 Set(float value) { return _mm256_set1_ps(value); }
  static __m256 Mul(__m256 a, __m256 b) { return _mm256_mul_ps(a, b); }
  static __m256 Div(__m256 a, __m256 b) { return _mm256_div_ps(a, b); }
  static __m256 Sqrt(__m256 a) { return _mm256_sqrt_ps(a); }
  static __m256 Fma(__m256 a, __m256 b, __m256 c) { return _mm256_fmadd_ps(a, b, c); }
  static __m256 FmaSub(__m256 a, __m256 b, __m256 c) { return _mm256_fmsub_ps(a, b, c); }
  static __m256 LoadBf16(const uint16_t* from) {
    const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
  }
  static void StoreBf16(uint16_t* to, __m256 value) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), Rounded(value));
  }
  static void StreamBf16(uint16_t* to, __m256 value) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to), Rounded(value));
  }

 private:
  static __m128i Rounded(__m256 value) {
    const __m256i bits = _mm256_castps_si256(value);
    const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_srli_epi32(
        _mm256_add_epi32(bits, _mm256_add_epi32(odd, _mm256_set1_epi32(0x7fff))), 16);
    const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
    const __m256i halves = _mm256_blendv_epi8(rounded, _mm256_set1_epi32(0x7fc0), is_nan);
    return _mm_packus_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
  }
};

}  // namespace

void AdamAvx2(const AdamRule& rule, const AdamTile& tile) {
  const int64_t done = UpdateWide<Avx2Lanes>(rule, tile);
  if (done < tile.count) AdamScalar(rule, tile.Part(done, tile.count));
  _mm_sfence();
}

}  // namespace trainctl::optim
