// Why no connection over TLS comes about, in words for people. gRPC tells only that the handshake
// failed; this makes one more, and looks. Thread-safe; waits at most about `patience` at each step.
#pragma once

#include <chrono>
#include <string>

#include "common/base/result.h"

namespace trainctl::tls {

struct Dial {
  std::string address;  // HOST:PORT
  // PEM of the authority that must have signed the server's certificate
  std::string authority;
  std::chrono::milliseconds patience{2000};
};

// Ok: a handshake succeeds now. kUnavailable: nobody listens or answers there. kDenied: somebody
// does, and is not to be trusted, or speaks no TLS; the message says why and what to do.
base::Status TryHandshake(const Dial& dial);

// Whether who listens there speaks TLS, with any certificate.
bool SpeaksTls(const std::string& address, std::chrono::milliseconds patience);

}  // namespace trainctl::tls
