#include "common/tls/authority_file.h"

#include "common/base/file.h"
#include "common/tls/certificates.h"

namespace trainctl::tls {
namespace {

constexpr size_t kMaxAuthorityBytes = size_t{64} << 10;

}  // namespace

base::Result<std::string> ReadAuthorityFile(const std::string& path) {
  auto text = base::ReadRegularFile(path, kMaxAuthorityBytes);
  if (!text) return text;
  if (const auto facts = ReadCertificate(*text); !facts) {
    return base::Error{base::Code::kInvalid,
                       path + ": " + facts.error().message + ": expected the site's ca.pem"};
  }
  return text;
}

}  // namespace trainctl::tls
