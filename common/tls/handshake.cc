#include "common/tls/handshake.h"

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <ctime>
#include <vector>

#include "common/tls/certificate_facts.h"
#include "common/tls/openssl.h"

namespace trainctl::tls {
namespace {

class Socket {
 public:
  explicit Socket(int file = -1) : file_(file) {}
  ~Socket() {
    if (file_ >= 0) close(file_);
  }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  bool Waits(short event, std::chrono::milliseconds patience) const {
    pollfd ready{file_, event, 0};
    return poll(&ready, 1, static_cast<int>(patience.count())) == 1;
  }
  int get() const { return file_; }

 private:
  const int file_;
};

struct Place {
  std::string host, port;
};

Place PlaceOf(const std::string& address) {
  const size_t colon = address.rfind(':');
  if (colon == std::string::npos) return {address, ""};
  std::string host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return {host, address.substr(colon + 1)};
}

// -1: no connection comes about.
int ConnectTo(const Place& place, std::chrono::milliseconds patience) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (getaddrinfo(place.host.c_str(), place.port.c_str(), &hints, &found) != 0) return -1;
  int file = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  const bool began =
      file >= 0 && (connect(file, found->ai_addr, found->ai_addrlen) == 0 || errno == EINPROGRESS);
  pollfd ready{file, POLLOUT, 0};
  int error = 0;
  socklen_t size = sizeof error;
  const bool done = began && poll(&ready, 1, static_cast<int>(patience.count())) == 1 &&
                    getsockopt(file, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  freeaddrinfo(found);
  if (!done && file >= 0) close(std::exchange(file, -1));
  return file;
}

enum class End { kDone, kNotTls, kClosed, kSilent };

// OpenSSL's bytes go through memory, so that a connection that is gone raises no signal.
class Attempt {
 public:
  Attempt(const Place& place, const std::string& authority) : context_(SSL_CTX_new(TLS_method())) {
    CHECK(context_ != nullptr) << LastOpenSslError();
    if (const auto root = FromPem<X509>(authority, PEM_read_bio_X509))
      X509_STORE_add_cert(SSL_CTX_get_cert_store(context_.get()), root.get());
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_NONE, nullptr);  // looked at afterwards
    ssl_.reset(SSL_new(context_.get()));
    in_ = BIO_new(BIO_s_mem());
    out_ = BIO_new(BIO_s_mem());
    CHECK(ssl_ != nullptr && in_ != nullptr && out_ != nullptr) << LastOpenSslError();
    SSL_set_bio(ssl_.get(), in_, out_);
    const std::string protocol("\x02h2");
    SSL_set_alpn_protos(ssl_.get(), reinterpret_cast<const unsigned char*>(protocol.data()), 3);
    X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl_.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, place.host.c_str()) != 1) {
      SSL_set1_host(ssl_.get(), place.host.c_str());
      SSL_set_tlsext_host_name(ssl_.get(), place.host.c_str());
    }
    ERR_clear_error();
  }

  End Run(const Socket& socket, std::chrono::milliseconds patience) {
    while (true) {
      const int result = SSL_connect(ssl_.get());
      const int error = result == 1 ? SSL_ERROR_NONE : SSL_get_error(ssl_.get(), result);
      ERR_clear_error();
      if (!SendAll(socket)) return End::kClosed;
      if (error == SSL_ERROR_NONE) return End::kDone;
      if (error != SSL_ERROR_WANT_READ) return End::kNotTls;
      if (!socket.Waits(POLLIN, patience)) return End::kSilent;
      char bytes[4096];
      const ssize_t got = recv(socket.get(), bytes, sizeof bytes, 0);
      if (got <= 0) return End::kClosed;
      BIO_write(in_, bytes, static_cast<int>(got));
    }
  }

  long verdict() const { return SSL_get_verify_result(ssl_.get()); }
  CertificateFacts server() const {
    const Owned<X509> certificate(SSL_get1_peer_certificate(ssl_.get()));
    return certificate == nullptr ? CertificateFacts() : FactsOf(certificate.get());
  }

 private:
  bool SendAll(const Socket& socket) const {
    char bytes[4096];
    int size = 0;
    while ((size = BIO_read(out_, bytes, sizeof bytes)) > 0) {
      if (send(socket.get(), bytes, static_cast<size_t>(size), MSG_NOSIGNAL) != size) return false;
    }
    return true;
  }

  const Owned<SSL_CTX> context_;
  Owned<SSL> ssl_;
  BIO *in_ = nullptr, *out_ = nullptr;  // the connection's
};

std::string Day(base::WallMicros time) {
  const std::time_t seconds = time / 1'000'000;
  std::tm parts{};
  char text[32] = "";
  if (gmtime_r(&seconds, &parts) != nullptr) std::strftime(text, sizeof text, "%F %T UTC", &parts);
  return text;
}

std::string Listed(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text.empty() ? "no host" : text;
}

std::string Fault(long verdict, const Place& place, const CertificateFacts& server) {
  switch (verdict) {
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return "its certificate expired on " + Day(server.validity.until) +
             ": a new one is needed there, or this host's clock is wrong";
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return "its certificate is valid only from " + Day(server.validity.from) +
             ": is this host's clock right?";
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return "its certificate is not for '" + place.host + "' but for " + Listed(server.hosts) +
             ": use one of these names, or make it anew with --name " + place.host;
    default:
      return "another authority than that of the CA file has signed its certificate (" +
             std::string(X509_verify_cert_error_string(verdict)) +
             "): take ca.pem of that site, and be sure that it is the right host";
  }
}

base::Error Denied(const std::string& message) { return {base::Code::kDenied, message}; }

}  // namespace

base::Status TryHandshake(const Dial& dial) {
  const Place place = PlaceOf(dial.address);
  const Socket socket(ConnectTo(place, dial.patience));
  if (socket.get() < 0)
    return base::Error{base::Code::kUnavailable, "nobody listens at " + dial.address};
  Attempt attempt(place, dial.authority);
  switch (attempt.Run(socket, dial.patience)) {
    case End::kSilent:
      return base::Error{base::Code::kUnavailable, dial.address + " does not answer"};
    case End::kClosed:
      return base::Error{base::Code::kUnavailable, dial.address + " closes the connection at once"};
    case End::kNotTls:
      return Denied(dial.address +
                    " speaks no TLS: is it the port of a coordinator with --site-keys?");
    case End::kDone: break;
  }
  if (attempt.verdict() == X509_V_OK) return base::Ok{};
  return Denied(dial.address +
                " can't be trusted: " + Fault(attempt.verdict(), place, attempt.server()));
}

bool SpeaksTls(const std::string& address, std::chrono::milliseconds patience) {
  const Place place = PlaceOf(address);
  const Socket socket(ConnectTo(place, patience));
  return socket.get() >= 0 && Attempt(place, "").Run(socket, patience) == End::kDone;
}

}  // namespace trainctl::tls
