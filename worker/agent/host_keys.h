// What a host's workers show a coordinator that is reached with TLS, in a folder. It has the site's
// authority (ca.pem), a key of this host (worker.key, mode 0600), and its certificate (worker.pem).
// Several workers of a host may share it. Thread-safe.
#pragma once

#include <string>

#include "common/base/clock.h"
#include "common/base/result.h"

namespace trainctl::agent {

struct HostKeys {
  std::string authority, key, certificate;  // PEM
};

// kInvalid: something is missing, kDenied: the key is open to others; what to do is said. kIo.
base::Result<HostKeys> ReadHostKeys(const std::string& folder);
base::Status WriteHostKeys(const std::string& folder, const HostKeys& keys);
// Of a renewal: the key stays.
base::Status WriteHostCertificate(const std::string& folder, const std::string& certificate);

enum class CertificateAge { kUnborn, kYoung, kOld, kExpired };
// Unborn: good only from later on, as a clock that is wrong here or was there has it. Old: past
// half of its life, so that a coordinator may be away for days.
CertificateAge AgeOf(const HostKeys& keys, base::WallMicros now);

}  // namespace trainctl::agent
