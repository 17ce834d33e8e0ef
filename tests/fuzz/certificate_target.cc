// What a worker's host sends to obtain a certificate, and certificates that are told or stored. An
// input that is no PEM stands for the DER in one.
#include <openssl/evp.h>

#include <string>
#include <vector>

#include "common/base/check.h"
#include "common/tls/certificates.h"
#include "tests/fuzz/targets.h"

namespace trainctl::fuzz {
namespace {

constexpr tls::Validity kYear = {0, int64_t{365} * 86'400 * 1'000'000};

std::string ToPem(const std::string& label, std::string_view der) {
  std::vector<unsigned char> base64(der.size() * 2 + 4);
  const int size =
      EVP_EncodeBlock(base64.data(), reinterpret_cast<const unsigned char*>(der.data()),
                      static_cast<int>(der.size()));
  const std::string one_line(base64.begin(), base64.begin() + size);
  std::string lines;
  for (size_t at = 0; at < one_line.size(); at += 64) lines += one_line.substr(at, 64) + "\n";
  return "-----BEGIN " + label + "-----\n" + lines + "-----END " + label + "-----\n";
}

bool ReadPem(const std::string& text) {
  static const tls::KeyPair authority = tls::MakeAuthority("site", kYear).value();
  const auto facts = tls::ReadCertificate(text);
  const auto made = tls::MakeWorkerCertificate(authority, text, "node-1", kYear);
  if (!made) return facts.ok() || tls::MakeRequest(text).ok();
  const auto certified = tls::ReadCertificate(*made);
  CHECK(certified.ok()) << *made;
  CHECK(certified->hosts == std::vector<std::string>{"node-1"});
  return true;
}

}  // namespace

bool ReadCertificate(std::string_view bytes) {
  if (bytes.starts_with("-----")) return ReadPem(std::string(bytes));
  bool understood = false;
  for (const char* label : {"CERTIFICATE", "CERTIFICATE REQUEST", "PRIVATE KEY"})
    understood |= ReadPem(ToPem(label, bytes));
  return understood;
}

}  // namespace trainctl::fuzz
