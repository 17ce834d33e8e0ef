#include "client/plot/picture_file.h"

#include "client/plot/png_picture.h"
#include "client/plot/svg.h"
#include "common/base/file.h"

namespace trainctl::client::drawn {

base::Status WritePicture(const Drawing& drawing, const std::string& file) {
  if (!file.ends_with(".png")) return base::WriteFileAtomically(file, SvgOf(drawing));
  const base::Result<std::string> png = PngOf(drawing);
  if (!png.ok()) return png.error();
  return base::WriteFileAtomically(file, *png);
}

}  // namespace trainctl::client::drawn
