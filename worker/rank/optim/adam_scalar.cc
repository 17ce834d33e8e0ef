#include <cmath>
#include <cstring>

#include "worker/rank/optim/adam_kernel.h"
#include "worker/rank/optim/adam_lanes.h"

namespace trainctl::optim {
namespace {

struct ScalarLanes {
  using Floats = float;
  static constexpr int64_t kWidth = 1;

  static float Load(const float* from) { return *from; }
  static void Store(float* to, float value) { *to = value; }
  static void Stream(float* to, float value) { *to = value; }
  static float Set(float value) { return value; }
  static float Mul(float a, float b) { return a * b; }
  static float Div(float a, float b) { return a / b; }
  static float Sqrt(float a) { return std::sqrt(a); }
  static float Fma(float a, float b, float c) { return std::fma(a, b, c); }
  static float FmaSub(float a, float b, float c) { return std::fma(a, b, -c); }
  static float LoadBf16(const uint16_t* from) {
    const uint32_t bits = static_cast<uint32_t>(*from) << 16;
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }
  static void StoreBf16(uint16_t* to, float value) {
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    *to = std::isnan(value) ? 0x7fc0
                            : static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
  static void StreamBf16(uint16_t* to, float value) { StoreBf16(to, value); }
};

}  // namespace

void AdamScalar(const AdamRule& rule, const AdamTile& tile) { UpdateWide<ScalarLanes>(rule, tile); }

}  // namespace trainctl::optim
