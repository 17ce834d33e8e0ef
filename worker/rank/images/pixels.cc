#include "worker/rank/images/pixels.h"

#include <array>

#include "common/base/check.h"
#include "worker/rank/images/resize.h"

namespace trainctl::images {
namespace {

constexpr size_t kColours = 3;
// OPENAI_CLIP_MEAN and OPENAI_CLIP_STD of transformers.
constexpr std::array<float, kColours> kMean = {0.48145466F, 0.4578275F, 0.40821073F};
constexpr std::array<float, kColours> kDeviation = {0.26862954F, 0.26130258F, 0.27577711F};

using Table = std::array<std::array<float, 256>, kColours>;

// Of each value that a byte can have.
constexpr Table MakeTable() {
  Table table = {};
  for (size_t colour = 0; colour < kColours; ++colour) {
    for (size_t value = 0; value < 256; ++value) {
      const auto rescaled = static_cast<float>(static_cast<double>(value) * (1 / 255.0));
      table[colour][value] = (rescaled - kMean[colour]) / kDeviation[colour];
    }
  }
  return table;
}

constexpr Table kNormalized = MakeTable();

}  // namespace

Pixels PixelsOf(const Picture& picture, int64_t side) { return Resized(picture, side, side).rgb; }

void Normalize(std::span<const uint8_t> pixels, std::span<float> out) {
  CHECK(pixels.size() == out.size() && pixels.size() % kColours == 0)
      << pixels.size() << ", " << out.size();
  const size_t area = pixels.size() / kColours;
  for (size_t colour = 0; colour < kColours; ++colour) {
    for (size_t i = 0; i < area; ++i)
      out[colour * area + i] = kNormalized[colour][pixels[i * kColours + colour]];
  }
}

}  // namespace trainctl::images
