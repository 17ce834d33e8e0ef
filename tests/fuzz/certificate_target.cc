// What a worker's host sends to obtain a certificate, and certificates that are told or stored.
#include <string>

#include "common/base/check.h"
#include "common/tls/certificates.h"
#include "tests/fuzz/targets.h"

namespace trainctl::fuzz {
namespace {

constexpr tls::Validity kYear = {0, int64_t{365} * 86'400 * 1'000'000};

}  // namespace

bool ReadCertificate(std::string_view bytes) {
  static const tls::KeyPair authority = tls::MakeAuthority("site", kYear).value();
  const std::string text(bytes);
  const auto facts = tls::ReadCertificate(text);
  const auto made = tls::MakeWorkerCertificate(authority, text, "node-1", kYear);
  if (!made) return facts.ok() || tls::MakeRequest(text).ok();
  const auto certified = tls::ReadCertificate(*made);
  CHECK(certified.ok()) << *made;
  CHECK(certified->hosts == std::vector<std::string>{"node-1"});
  return true;
}

}  // namespace trainctl::fuzz
