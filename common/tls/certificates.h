// Certificates of a site: an authority of its own, and what it signs. ECDSA on P-256, X.509 as PEM.
// Times are given, so that tests can be anywhere in time. Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/result.h"

namespace trainctl::tls {

struct KeyPair {
  std::string certificate;  // PEM
  std::string key;          // PEM, PKCS #8, without a passphrase: a secret
};

// To the second.
struct Validity {
  base::WallMicros from = 0;
  base::WallMicros until = 0;
};

// kInternal: what OpenSSL said.
base::Result<KeyPair> MakeAuthority(const std::string& name, const Validity& validity);

// Of a server that clients reach by these host names and addresses, at least one. kInvalid: one is
// neither. kInternal.
base::Result<KeyPair> MakeServerCertificate(const KeyPair& authority,
                                            const std::vector<std::string>& hosts,
                                            const Validity& validity);

// A new private key. kInternal.
base::Result<std::string> MakeKey();
// Asks for a certificate of this key, and proves that one has it; says no name. kInvalid: no key.
base::Result<std::string> MakeRequest(const std::string& key);

// Of a worker's host, as a client. Of the request only the key is taken. kInvalid: no request, not
// signed by its own key, or no key on P-256. kInternal.
base::Result<std::string> MakeWorkerCertificate(const KeyPair& authority,
                                                const std::string& request, const std::string& host,
                                                const Validity& validity);

struct CertificateFacts {
  std::string name;
  std::vector<std::string> hosts;  // names and addresses that it is for, as a server's
  Validity validity;
};
// kInvalid: the text is no certificate.
base::Result<CertificateFacts> ReadCertificate(const std::string& certificate);

// At most 64 letters, digits, '-' and '.'.
bool IsHostName(const std::string& host);

}  // namespace trainctl::tls
