// What a certificate says, out of OpenSSL's own form. For this room alone.
#pragma once

#include "common/tls/certificates.h"
#include "common/tls/openssl.h"

namespace trainctl::tls {

CertificateFacts FactsOf(X509* certificate);

}  // namespace trainctl::tls
