#include "worker/rank/images/resize.h"

#include <algorithm>
#include <cmath>

#include "common/base/check.h"

namespace trainctl::images {
namespace {

constexpr int kPrecisionBitsOfWeights = 32 - 8 - 2;
constexpr double kCubic = -0.5, kCubicSupport = 2;
constexpr int64_t kChannels = 3;

double Bicubic(double x) {
  x = std::abs(x);
  if (x < 1) return ((kCubic + 2) * x - (kCubic + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * kCubic;
  return 0;
}

// Of one output pixel along an axis: the input pixels from `first`, and their weights in fixed
// point.
struct Taps {
  int64_t first = 0;
  std::vector<int32_t> weights;
};

std::vector<Taps> TapsOf(int64_t in, int64_t out) {
  const double scale = static_cast<double>(in) / static_cast<double>(out);
  const double filter_scale = std::max(scale, 1.0), support = kCubicSupport * filter_scale;
  std::vector<Taps> taps(static_cast<size_t>(out));
  std::vector<double> weights;
  for (int64_t i = 0; i < out; ++i) {
    const double center = (static_cast<double>(i) + 0.5) * scale;
    const auto first = std::max<int64_t>(0, static_cast<int64_t>(center - support + 0.5));
    const auto end = std::min(in, static_cast<int64_t>(center + support + 0.5));
    double sum = 0;
    weights.clear();
    for (int64_t x = first; x < end; ++x) {
      weights.push_back(Bicubic((static_cast<double>(x) - center + 0.5) * (1 / filter_scale)));
      sum += weights.back();
    }
    taps[i].first = first;
    for (const double weight : weights) {
      const double fixed = (sum == 0 ? weight : weight / sum) * (1 << kPrecisionBitsOfWeights);
      taps[i].weights.push_back(static_cast<int32_t>(fixed + (fixed < 0 ? -0.5 : 0.5)));
    }
  }
  return taps;
}

// The pixels are stride bytes apart.
void Weigh(const Taps& taps, const uint8_t* pixels, int64_t stride, uint8_t* out) {
  constexpr int32_t kHalf = 1 << (kPrecisionBitsOfWeights - 1);
  int32_t red = kHalf, green = kHalf, blue = kHalf;
  const uint8_t* pixel = pixels + taps.first * stride;
  for (const int32_t weight : taps.weights) {
    red += pixel[0] * weight;
    green += pixel[1] * weight;
    blue += pixel[2] * weight;
    pixel += stride;
  }
  const auto byte = [](int32_t sum) {
    return static_cast<uint8_t>(std::clamp(sum >> kPrecisionBitsOfWeights, 0, 255));
  };
  out[0] = byte(red);
  out[1] = byte(green);
  out[2] = byte(blue);
}

Picture WithWidth(const Picture& from, int64_t width) {
  Picture to{width, from.height, {}};
  to.rgb.resize(static_cast<size_t>(width * from.height * kChannels));
  const std::vector<Taps> taps = TapsOf(from.width, width);
  for (int64_t y = 0; y < from.height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      Weigh(taps[x], &from.rgb[y * from.width * kChannels], kChannels,
            &to.rgb[(y * width + x) * kChannels]);
    }
  }
  return to;
}

Picture WithHeight(const Picture& from, int64_t height) {
  Picture to{from.width, height, {}};
  to.rgb.resize(static_cast<size_t>(from.width * height * kChannels));
  const std::vector<Taps> taps = TapsOf(from.height, height);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < from.width; ++x) {
      Weigh(taps[y], &from.rgb[x * kChannels], from.width * kChannels,
            &to.rgb[(y * from.width + x) * kChannels]);
    }
  }
  return to;
}

}  // namespace

Picture Resized(const Picture& picture, int64_t width, int64_t height) {
  CHECK(width > 0 && height > 0 && !picture.rgb.empty()) << width << " × " << height;
  if (width == picture.width && height == picture.height) return picture;
  if (width == picture.width) return WithHeight(picture, height);
  if (height == picture.height) return WithWidth(picture, width);
  const int64_t lower = picture.height - height, narrower = picture.width - width;
  return lower > 0 && lower > 2 * narrower ? WithWidth(WithHeight(picture, height), width)
                                           : WithHeight(WithWidth(picture, width), height);
}

}  // namespace trainctl::images
