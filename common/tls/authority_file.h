// The file with the certificate of a site's authority. gRPC takes an empty one for the authorities
// of the system: anybody with a certificate of the web could then be the site.
#pragma once

#include <string>

#include "common/base/result.h"

namespace trainctl::tls {

// kNotFound. kInvalid: it holds no certificate, or is no regular file. kExhausted: it is larger
// than 64 KiB. kIo.
base::Result<std::string> ReadAuthorityFile(const std::string& path);

}  // namespace trainctl::tls
