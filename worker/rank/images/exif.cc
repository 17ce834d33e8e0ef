#include "worker/rank/images/exif.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace trainctl::images {
namespace {

constexpr int64_t kOrientationTag = 0x0112;
constexpr int64_t kEntryBytes = 12;
constexpr std::string_view kExifBegin("Exif\0\0", 6);
constexpr std::string_view kXmpOfJpeg("http://ns.adobe.com/xap/1.0/\0", 29);
// A keyword, not compressed by no method, in no language, without another keyword.
constexpr std::string_view kXmpOfPng("XML:com.adobe.xmp\0\0\0\0\0", 22);

// What a file tells besides its pixels; "" where it does not.
struct Told {
  std::string_view exif, xmp;
};

// A file's bytes. What lies beyond them is not there, and makes failed().
class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes) {}

  std::string_view Take(int64_t begin, int64_t count) {
    const auto size = static_cast<int64_t>(bytes_.size());
    if (begin < 0 || count < 0 || begin > size || count > size - begin) {
      failed_ = true;
      return {};
    }
    return bytes_.substr(static_cast<size_t>(begin), static_cast<size_t>(count));
  }
  int64_t Number(int64_t begin, int64_t count, bool big_endian) {
    const std::string_view digits = Take(begin, count);
    int64_t number = 0;
    for (size_t i = 0; i < digits.size(); ++i) {
      const char digit = digits[big_endian ? i : digits.size() - 1 - i];
      number = number << 8 | static_cast<unsigned char>(digit);
    }
    return number;
  }
  bool failed() const { return failed_; }

 private:
  const std::string_view bytes_;
  bool failed_ = false;
};

// Segments stand before the pixels: a marker, and a length that counts itself.
Told ToldByJpeg(std::string_view file) {
  constexpr int64_t kPadding = 0xFF, kApp1 = 0xE1, kStartOfScan = 0xDA, kEnd = 0xD9;
  Reader reader(file);
  Told told;
  for (int64_t at = 2; !reader.failed();) {
    if (reader.Number(at, 1, true) != 0xFF) break;
    const int64_t marker = reader.Number(at + 1, 1, true);
    at += marker == kPadding ? 1 : 2;
    if (marker == kPadding) continue;
    if (marker == kStartOfScan || marker == kEnd) break;
    const int64_t length = reader.Number(at, 2, true);
    const std::string_view segment = reader.Take(at + 2, length - 2);
    if (marker == kApp1 && segment.starts_with(kExifBegin) && told.exif.empty())
      told.exif = segment;
    if (marker == kApp1 && segment.starts_with(kXmpOfJpeg)) told.xmp = segment;
    at += length;
  }
  return told;
}

// Chunks: length, type, data, a checksum.
Told ToldByPng(std::string_view file) {
  Reader reader(file);
  Told told;
  for (int64_t at = 8; !reader.failed();) {
    const int64_t length = reader.Number(at, 4, true);
    const std::string_view type = reader.Take(at + 4, 4);
    if (type == "IEND") break;
    const std::string_view data = reader.Take(at + 8, length);
    if (type == "eXIf" && told.exif.empty()) told.exif = data;
    if (type == "iTXt" && data.starts_with(kXmpOfPng)) told.xmp = data;
    at += 12 + length;
  }
  return told;
}

// Chunks: type, length, data of an even length.
Told ToldByWebp(std::string_view file) {
  Reader reader(file);
  Told told;
  for (int64_t at = 12; !reader.failed();) {
    const std::string_view type = reader.Take(at, 4);
    const int64_t length = reader.Number(at + 4, 4, false);
    const std::string_view data = reader.Take(at + 8, length);
    if (type == "EXIF" && told.exif.empty()) told.exif = data;
    if (type == "XMP " && told.xmp.empty()) told.xmp = data;
    at += 8 + length + length % 2;
  }
  return told;
}

// Of the first directory of a TIFF file, which EXIF is. One of another type is kUpright.
std::optional<int64_t> OrientationOfTiff(std::string_view tiff) {
  constexpr int64_t kShort = 3, kLong = 4;
  Reader reader(tiff);
  const std::string_view order = reader.Take(0, 2);
  const bool big_endian = order == "MM";
  if (!big_endian && order != "II") return std::nullopt;
  const auto number = [&](int64_t at, int64_t bytes) {
    return reader.Number(at, bytes, big_endian);
  };
  if (number(2, 2) != 42) return std::nullopt;
  const int64_t directory = number(4, 4), entries = number(directory, 2);
  for (int64_t entry = 0; entry < entries && !reader.failed(); ++entry) {
    const int64_t at = directory + 2 + entry * kEntryBytes;
    if (number(at, 2) != kOrientationTag) continue;
    const int64_t type = number(at + 2, 2), count = number(at + 4, 4);
    if ((type != kShort && type != kLong) || count != 1) return kUpright;
    const int64_t orientation = number(at + 8, type == kShort ? 2 : 4);
    return reader.failed() ? std::nullopt : std::optional(orientation);
  }
  return std::nullopt;
}

// A digit, of an attribute or of an element.
std::optional<int64_t> OrientationOfXmp(std::string_view xmp) {
  constexpr std::string_view kName = "tiff:Orientation";
  for (size_t at = xmp.find(kName); at != xmp.npos; at = xmp.find(kName, at + 1)) {
    std::string_view behind = xmp.substr(at + kName.size());
    if (!behind.starts_with("=\"") && !behind.starts_with(">")) continue;
    behind.remove_prefix(behind.starts_with(">") ? 1 : 2);
    if (!behind.empty() && behind[0] >= '0' && behind[0] <= '9') return behind[0] - '0';
  }
  return std::nullopt;
}

}  // namespace

int OrientationOf(Bytes bytes) {
  const std::string_view file(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  Told told = file.starts_with("\xFF\xD8")  ? ToldByJpeg(file)
              : file.starts_with("\x89PNG") ? ToldByPng(file)
              : file.starts_with("RIFF")    ? ToldByWebp(file)
                                            : Told();
  while (told.exif.starts_with(kExifBegin)) told.exif.remove_prefix(kExifBegin.size());
  std::optional<int64_t> told_one = OrientationOfTiff(told.exif);
  if (!told_one) told_one = OrientationOfXmp(told.xmp);
  const int64_t orientation = told_one.value_or(kUpright);
  return orientation >= 1 && orientation <= 8 ? static_cast<int>(orientation) : kUpright;
}

Picture Turned(Picture picture, int orientation) {
  constexpr int64_t kChannels = 3;
  if (orientation == kUpright) return picture;
  const bool swaps = orientation >= 5;
  const bool mirrors_x = orientation == 2 || orientation == 3 || orientation >= 7;
  const bool mirrors_y =
      orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  Picture turned{swaps ? picture.height : picture.width, swaps ? picture.width : picture.height,
                 std::vector<uint8_t>(picture.rgb.size())};
  uint8_t* to = turned.rgb.data();
  for (int64_t y = 0; y < turned.height; ++y) {
    for (int64_t x = 0; x < turned.width; ++x, to += kChannels) {
      const int64_t across = swaps ? y : x, down = swaps ? x : y;
      const int64_t column = mirrors_x ? picture.width - 1 - across : across;
      const int64_t row = mirrors_y ? picture.height - 1 - down : down;
      std::copy_n(&picture.rgb[static_cast<size_t>((row * picture.width + column) * kChannels)],
                  kChannels, to);
    }
  }
  return turned;
}

}  // namespace trainctl::images
