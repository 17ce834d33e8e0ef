#include "worker/agent/host_keys.h"

#include <filesystem>
#include <utility>

#include "common/base/file.h"
#include "common/base/secret_file.h"
#include "common/tls/authority_file.h"
#include "common/tls/certificates.h"

namespace trainctl::agent {
namespace {

constexpr size_t kMaxPemBytes = size_t{64} << 10;

std::string AuthorityFile(const std::string& folder) { return folder + "/ca.pem"; }
std::string KeyFile(const std::string& folder) { return folder + "/worker.key"; }
std::string CertificateFile(const std::string& folder) { return folder + "/worker.pem"; }

base::Error OfKeys(const base::Error& error) {
  if (error.code != base::Code::kNotFound) return error;
  return {base::Code::kInvalid,
          "--keys: " + error.message + ": trainworker join makes it (trainworker --help)"};
}

}  // namespace

base::Result<HostKeys> ReadHostKeys(const std::string& folder) {
  auto authority = tls::ReadAuthorityFile(AuthorityFile(folder));
  if (!authority) return OfKeys(authority.error());
  auto key = base::ReadSecretFile(KeyFile(folder));
  if (!key) return OfKeys(key.error());
  auto certificate = base::ReadRegularFile(CertificateFile(folder), kMaxPemBytes);
  if (!certificate) return OfKeys(certificate.error());
  return HostKeys{std::move(*authority), std::move(*key), std::move(*certificate)};
}

base::Status WriteHostKeys(const std::string& folder, const HostKeys& keys) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return base::Error{base::Code::kIo, folder + ": " + error.message()};
  base::Status written = base::WriteFileAtomically(AuthorityFile(folder), keys.authority);
  if (written) written = base::WriteSecretFile(KeyFile(folder), keys.key);
  if (written) written = WriteHostCertificate(folder, keys.certificate);
  return written;
}

base::Status WriteHostCertificate(const std::string& folder, const std::string& certificate) {
  return base::WriteFileAtomically(CertificateFile(folder), certificate);
}

CertificateAge AgeOf(const HostKeys& keys, base::WallMicros now) {
  const auto facts = tls::ReadCertificate(keys.certificate);
  if (!facts || facts->validity.until <= now) return CertificateAge::kExpired;
  if (facts->validity.from > now) return CertificateAge::kUnborn;
  const int64_t life = facts->validity.until - facts->validity.from;
  return facts->validity.until - now < life / 2 ? CertificateAge::kOld : CertificateAge::kYoung;
}

}  // namespace trainctl::agent
