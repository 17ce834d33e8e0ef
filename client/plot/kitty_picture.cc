#include "client/plot/kitty_picture.h"

#include <string_view>

#include "client/plot/compressed.h"
#include "client/show/escaping.h"

namespace trainctl::client {
namespace {

constexpr size_t kMostBytes = 4096;  // of one piece, as the protocol has it

std::string Base64(std::string_view bytes) {
  static constexpr char kDigits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    uint32_t value = 0;
    for (size_t i = 0; i < 3; ++i)
      value = value << 8 | (i < group.size() ? static_cast<uint8_t>(group[i]) : 0);
    for (size_t i = 0; i < 4; ++i)
      text += i <= group.size() ? kDigits[value >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

}  // namespace

std::string KittyPicture(const Raster& raster, int columns, int rows) {
  const std::string payload = Base64(Compressed(raster.pixels(), /*level=*/1));
  std::string keys = "a=T,q=2,C=1,f=32,o=z,s=" + std::to_string(raster.width()) +
                     ",v=" + std::to_string(raster.height()) + ",c=" + std::to_string(columns) +
                     ",r=" + std::to_string(rows) + ",";
  std::string text;
  for (size_t at = 0; at < payload.size(); at += kMostBytes) {
    const bool is_last = at + kMostBytes >= payload.size();
    text += kOwnEscape;
    text += "_G" + keys + (is_last ? "m=0;" : "m=1;") + payload.substr(at, kMostBytes);
    text += kOwnEscape;
    text += "\\";
    keys.clear();
  }
  return text;
}

}  // namespace trainctl::client
