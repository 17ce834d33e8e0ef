// Compiled for AVX-512: includes nothing whose inline functions other files share.
#include <immintrin.h>

#include "worker/rank/optim/adam_kernel.h"
#include "worker/rank/optim/adam_lanes.h"

namespace trainctl::optim {
namespace {

// Rounding to bf16 in integers: the instruction of AVX512-BF16 would flush denormals.
struct Avx512Lanes {
  using Floats = __m512;
  static constexpr int64_t kWidth = 16;

  static __m512 Load(const float* from) { return _mm512_loadu_ps(from); }
  static void Store(float* to, __m512 value) { _mm512_storeu_ps(to, value); }
  static void Stream(float* to, __m512 value) { _mm512_stream_ps(to, value); }
  static __m512 Set(float value) { return _mm512_set1_ps(value); }
  static __m512 Mul(__m512 a, __m512 b) { return _mm512_mul_ps(a, b); }
  static __m512 Div(__m512 a, __m512 b) { return _mm512_div_ps(a, b); }
  static __m512 Sqrt(__m512 a) { return _mm512_sqrt_ps(a); }
  static __m512 Fma(__m512 a, __m512 b, __m512 c) { return _mm512_fmadd_ps(a, b, c); }
  static __m512 FmaSub(__m512 a, __m512 b, __m512 c) { return _mm512_fmsub_ps(a, b, c); }
  static __m512 LoadBf16(const uint16_t* from) {
    const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
  }
  static void StoreBf16(uint16_t* to, __m512 value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), Rounded(value));
  }
  static void StreamBf16(uint16_t* to, __m512 value) {
    _mm256_stream_si256(reinterpret_cast<__m256i*>(to), Rounded(value));
  }

 private:
  static __m256i Rounded(__m512 value) {
    const __m512i bits = _mm512_castps_si512(value);
    const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_srli_epi32(
        _mm512_add_epi32(bits, _mm512_add_epi32(odd, _mm512_set1_epi32(0x7fff))), 16);
    const __mmask16 is_nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
    return _mm512_cvtepi32_epi16(_mm512_mask_mov_epi32(rounded, is_nan, _mm512_set1_epi32(0x7fc0)));
  }
};

}  // namespace

void AdamAvx512(const AdamRule& rule, const AdamTile& tile) {
  const int64_t done = UpdateWide<Avx512Lanes>(rule, tile);
  if (done < tile.count) AdamScalar(rule, tile.Part(done, tile.count));
  _mm_sfence();
}

}  // namespace trainctl::optim
