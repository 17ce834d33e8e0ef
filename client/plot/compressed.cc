#include "client/plot/compressed.h"

#include <zlib.h>

#include "common/base/check.h"

namespace trainctl::client {

std::string Compressed(std::span<const uint8_t> bytes, int level) {
  uLongf size = ::compressBound(bytes.size());
  std::string out(size, '\0');
  const int result =
      ::compress2(reinterpret_cast<Bytef*>(out.data()), &size, bytes.data(), bytes.size(), level);
  CHECK(result == Z_OK) << "zlib says " << result;
  out.resize(size);
  return out;
}

}  // namespace trainctl::client
