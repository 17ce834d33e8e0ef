#include "worker/rank/images/picture_file.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "common/base/file.h"
#include "common/base/regular_file.h"
#include "worker/rank/images/picture.h"

namespace trainctl::images {
namespace {

base::Error PartError(base::Code code, const PictureFile& file, const std::string& message) {
  return {code, "cannot read the picture at byte " + std::to_string(file.begin) + " of " +
                    file.path + ": " + message};
}

base::Result<std::string> ReadPart(int fd, const PictureFile& file) {
  std::string part(static_cast<size_t>(file.bytes), '\0');
  for (size_t done = 0; done < part.size();) {
    const ssize_t read = ::pread(fd, part.data() + done, part.size() - done,
                                 file.begin + static_cast<int64_t>(done));
    if (read < 0 && errno == EINTR) continue;
    if (read < 0) return PartError(base::Code::kIo, file, std::strerror(errno));
    if (read == 0) return PartError(base::Code::kInvalid, file, "the file has become shorter");
    done += static_cast<size_t>(read);
  }
  return part;
}

}  // namespace

base::Result<std::string> ReadPicture(const PictureFile& file) {
  if (file.is_whole()) return base::ReadRegularFile(file.path, kMostFileBytes);
  if (file.bytes > static_cast<int64_t>(kMostFileBytes)) {
    return PartError(
        base::Code::kExhausted, file,
        std::to_string(file.bytes) + " bytes, expected at most " + std::to_string(kMostFileBytes));
  }
  const base::Result<base::Descriptor> opened = base::OpenRegular(file.path);
  if (!opened) return PartError(opened.error().code, file, opened.error().message);
  return ReadPart(opened->get(), file);
}

}  // namespace trainctl::images
