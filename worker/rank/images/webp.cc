#include "worker/rank/images/codecs.h"

#include <webp/decode.h>

#include <string>

#include "worker/rank/images/channels.h"

namespace trainctl::images {
namespace {

base::Error WebpError(const std::string& message) {
  return {base::Code::kInvalid, "WebP: " + message};
}

}  // namespace

bool HasWebp() { return true; }

base::Result<Picture> DecodeWebp(Bytes file) {
  const auto* data = reinterpret_cast<const uint8_t*>(file.data());
  WebPBitstreamFeatures features;
  if (WebPGetFeatures(data, file.size(), &features) != VP8_STATUS_OK)
    return WebpError("a broken or truncated header");
  if (features.has_animation) return WebpError("animated; expected one picture");
  if (auto fits = CheckSize(features.width, features.height); !fits)
    return WebpError(fits.error().message);
  const int channels = features.has_alpha ? 4 : 3;
  const int row_bytes = features.width * channels;
  std::vector<uint8_t> samples(static_cast<size_t>(row_bytes) * features.height);
  const auto* decoded =
      features.has_alpha
          ? WebPDecodeRGBAInto(data, file.size(), samples.data(), samples.size(), row_bytes)
          : WebPDecodeRGBInto(data, file.size(), samples.data(), samples.size(), row_bytes);
  if (decoded == nullptr) return WebpError("broken or truncated");
  return Picture{features.width, features.height,
                 features.has_alpha ? OnWhite(samples) : std::move(samples)};
}

}  // namespace trainctl::images
