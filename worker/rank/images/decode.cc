#include "worker/rank/images/decode.h"

#include <string>
#include <string_view>
#include <utility>

#include "worker/rank/images/codecs.h"
#include "worker/rank/images/exif.h"

namespace trainctl::images {

namespace {

base::Result<Picture> AsStored(Bytes file) {
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  if (text.starts_with("\xFF\xD8\xFF")) return DecodeJpeg(file);
  if (text.starts_with("\x89PNG\r\n\x1A\n")) return DecodePng(file);
  if (text.starts_with("RIFF") && text.substr(0, 12).ends_with("WEBP")) return DecodeWebp(file);
  return base::Error{base::Code::kInvalid,
                     text.empty() ? "an empty file" : "neither JPEG nor PNG nor WebP"};
}

}  // namespace

base::Result<Picture> Decode(Bytes file) {
  auto picture = AsStored(file);
  if (!picture) return picture;
  return Turned(std::move(*picture), OrientationOf(file));
}

base::Result<Picture> DecodeFile(const PictureFile& file) {
  const auto bytes = ReadPicture(file);
  if (!bytes) return bytes.error();
  auto picture = Decode(std::as_bytes(std::span(*bytes)));
  if (!picture)
    return base::Error{picture.error().code, file.Name() + ": " + picture.error().message};
  return picture;
}

}  // namespace trainctl::images
