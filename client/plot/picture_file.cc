#include "client/plot/picture_file.h"

#include "client/new_file.h"
#include "client/plot/png_picture.h"
#include "client/plot/svg.h"

namespace trainctl::client::drawn {

base::Status WritePicture(const Drawing& drawing, const std::string& file, bool overwrite) {
  if (!file.ends_with(".png")) return WriteNewFile(file, SvgOf(drawing), overwrite);
  const base::Result<std::string> png = PngOf(drawing);
  if (!png.ok()) return png.error();
  return WriteNewFile(file, *png, overwrite);
}

}  // namespace trainctl::client::drawn
