// Objects of OpenSSL that end with their scope. For this room alone.
#pragma once

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <array>
#include <memory>
#include <string>

#include "common/base/result.h"

namespace trainctl::tls {

struct FreeOpenSsl {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(X509_REQ* request) const { X509_REQ_free(request); }
  void operator()(X509_EXTENSION* extension) const { X509_EXTENSION_free(extension); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* connection) const { SSL_free(connection); }
};
template <class T>
using Owned = std::unique_ptr<T, FreeOpenSsl>;

inline std::string LastOpenSslError() {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  ERR_clear_error();
  return text.data();
}

// A key with a passphrase is refused; OpenSSL would ask the terminal for it.
inline int NoPassphrase(char*, int, int, void*) { return -1; }

// read: one of OpenSSL's PEM_read_bio functions. nullptr: the text holds none.
template <class T, class Read>
Owned<T> FromPem(const std::string& text, Read read) {
  const Owned<BIO> bio(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
  Owned<T> made(bio == nullptr ? nullptr : read(bio.get(), nullptr, NoPassphrase, nullptr));
  ERR_clear_error();
  return made;
}

}  // namespace trainctl::tls
