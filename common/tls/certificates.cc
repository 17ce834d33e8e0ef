#include "common/tls/certificates.h"

#include <arpa/inet.h>
#include <openssl/ec.h>
#include <openssl/rand.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "common/tls/certificate_facts.h"
#include "common/tls/openssl.h"

namespace trainctl::tls {
namespace {

constexpr long kX509Version3 = 2;
constexpr const char* kCurve = "P-256";
constexpr std::string_view kCurveInOpenSsl = "prime256v1";
constexpr size_t kMaxRequestBytes = size_t{16} << 10;
constexpr int64_t kMicrosPerSecond = 1'000'000;

base::Error Failed(const std::string& what) {
  return {base::Code::kInternal, what + ": " + LastOpenSslError()};
}

base::Error NoRequest(const std::string& why) {
  return {base::Code::kInvalid, "the certificate request is refused: " + why};
}

template <class Write>
std::string ToPem(Write write) {
  const Owned<BIO> bio(BIO_new(BIO_s_mem()));
  if (bio == nullptr || write(bio.get()) != 1) return "";
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &data);
  return std::string(data, static_cast<size_t>(size));
}

std::string PemOf(X509* certificate) {
  return ToPem([&](BIO* bio) { return PEM_write_bio_X509(bio, certificate); });
}

std::string PemOf(EVP_PKEY* key) {
  return ToPem([&](BIO* bio) {
    return PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  });
}

bool AddExtension(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> extension(
      X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str()));
  return extension != nullptr && X509_add_ext(certificate, extension.get(), -1) == 1;
}

bool SetRandomSerial(X509* certificate) {
  uint64_t serial = 0;
  if (RAND_bytes(reinterpret_cast<unsigned char*>(&serial), sizeof serial) != 1) return false;
  return ASN1_INTEGER_set_uint64(X509_get_serialNumber(certificate), serial >> 1) == 1;
}

bool SetTimes(X509* certificate, const Validity& validity) {
  return ASN1_TIME_set(X509_getm_notBefore(certificate),
                       static_cast<time_t>(validity.from / kMicrosPerSecond)) != nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate),
                       static_cast<time_t>(validity.until / kMicrosPerSecond)) != nullptr;
}

// Without issuer, extensions and signature. nullptr: OpenSSL's error is set.
Owned<X509> NewCertificate(const std::string& name, EVP_PKEY* key, const Validity& validity) {
  Owned<X509> certificate(X509_new());
  if (certificate == nullptr) return nullptr;
  const auto* text = reinterpret_cast<const unsigned char*>(name.c_str());
  const bool done = X509_set_version(certificate.get(), kX509Version3) == 1 &&
                    SetRandomSerial(certificate.get()) && SetTimes(certificate.get(), validity) &&
                    X509_set_pubkey(certificate.get(), key) == 1 &&
                    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate.get()), "CN",
                                               MBSTRING_UTF8, text, -1, -1, 0) == 1;
  return done ? std::move(certificate) : nullptr;
}

struct Leaf {
  std::string name;
  const char* use;    // OpenSSL's name of the extended key usage
  std::string hosts;  // as subjectAltName; empty: none
};

// The certificate of a key that the authority signs; it can sign none itself.
base::Result<std::string> Sign(const KeyPair& authority, const Leaf& leaf, EVP_PKEY* key,
                               const Validity& validity) {
  const auto issuer = FromPem<X509>(authority.certificate, PEM_read_bio_X509);
  const auto issuer_key = FromPem<EVP_PKEY>(authority.key, PEM_read_bio_PrivateKey);
  if (issuer == nullptr || issuer_key == nullptr)
    return base::Error{base::Code::kInternal, "the authority's certificate or key can't be read"};
  const Owned<X509> certificate = NewCertificate(leaf.name, key, validity);
  X509* made = certificate.get();
  const bool done =
      made != nullptr && X509_set_issuer_name(made, X509_get_subject_name(issuer.get())) == 1 &&
      AddExtension(made, issuer.get(), NID_basic_constraints, "critical,CA:FALSE") &&
      AddExtension(made, issuer.get(), NID_key_usage, "critical,digitalSignature") &&
      AddExtension(made, issuer.get(), NID_ext_key_usage, leaf.use) &&
      AddExtension(made, issuer.get(), NID_subject_key_identifier, "hash") &&
      AddExtension(made, issuer.get(), NID_authority_key_identifier, "keyid") &&
      (leaf.hosts.empty() || AddExtension(made, issuer.get(), NID_subject_alt_name, leaf.hosts)) &&
      X509_sign(made, issuer_key.get(), EVP_sha256()) > 0;
  if (!done) return Failed("a certificate can't be made");
  return PemOf(made);
}

bool IsAddress(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  return inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
}

base::Result<std::string> AlternativeNames(const std::vector<std::string>& hosts) {
  std::string text;
  for (const std::string& host : hosts) {
    if (!IsAddress(host) && !IsHostName(host)) {
      return base::Error{base::Code::kInvalid,
                         "'" + host.substr(0, 64) + "' is neither a host's name nor its address"};
    }
    text += (text.empty() ? "" : ",") + std::string(IsAddress(host) ? "IP:" : "DNS:") + host;
  }
  if (text.empty()) return base::Error{base::Code::kInvalid, "a certificate needs a host's name"};
  return text;
}

bool IsOnCurve(EVP_PKEY* key) {
  std::array<char, 64> group{};
  return EVP_PKEY_get_group_name(key, group.data(), group.size(), nullptr) == 1 &&
         group.data() == kCurveInOpenSsl;
}

}  // namespace

bool IsHostName(const std::string& host) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.';
  };
  return !host.empty() && host.size() <= 64 && std::ranges::all_of(host, is_plain);
}

base::Result<KeyPair> MakeAuthority(const std::string& name, const Validity& validity) {
  const Owned<EVP_PKEY> key(EVP_EC_gen(kCurve));
  if (key == nullptr) return Failed("no key can be made");
  const Owned<X509> certificate = NewCertificate(name, key.get(), validity);
  X509* itself = certificate.get();
  const bool done =
      itself != nullptr && X509_set_issuer_name(itself, X509_get_subject_name(itself)) == 1 &&
      AddExtension(itself, itself, NID_basic_constraints, "critical,CA:TRUE,pathlen:0") &&
      AddExtension(itself, itself, NID_key_usage, "critical,keyCertSign,cRLSign") &&
      AddExtension(itself, itself, NID_subject_key_identifier, "hash") &&
      X509_sign(itself, key.get(), EVP_sha256()) > 0;
  if (!done) return Failed("the authority's certificate can't be made");
  return KeyPair{PemOf(itself), PemOf(key.get())};
}

base::Result<KeyPair> MakeServerCertificate(const KeyPair& authority,
                                            const std::vector<std::string>& hosts,
                                            const Validity& validity) {
  const auto names = AlternativeNames(hosts);
  if (!names) return names.error();
  const Owned<EVP_PKEY> key(EVP_EC_gen(kCurve));
  if (key == nullptr) return Failed("no key can be made");
  auto certificate = Sign(authority, {hosts.front(), "serverAuth", *names}, key.get(), validity);
  if (!certificate) return certificate.error();
  return KeyPair{std::move(*certificate), PemOf(key.get())};
}

base::Result<std::string> MakeKey() {
  const Owned<EVP_PKEY> key(EVP_EC_gen(kCurve));
  if (key == nullptr) return Failed("no key can be made");
  return PemOf(key.get());
}

base::Result<std::string> MakeRequest(const std::string& key) {
  const auto own = FromPem<EVP_PKEY>(key, PEM_read_bio_PrivateKey);
  if (own == nullptr) return base::Error{base::Code::kInvalid, "expected a private key as PEM"};
  const Owned<X509_REQ> request(X509_REQ_new());
  const bool done = request != nullptr && X509_REQ_set_pubkey(request.get(), own.get()) == 1 &&
                    X509_REQ_sign(request.get(), own.get(), EVP_sha256()) > 0;
  if (!done) return Failed("a certificate can't be asked for");
  return ToPem([&](BIO* bio) { return PEM_write_bio_X509_REQ(bio, request.get()); });
}

base::Result<std::string> MakeWorkerCertificate(const KeyPair& authority,
                                                const std::string& request, const std::string& host,
                                                const Validity& validity) {
  if (!IsHostName(host)) return NoRequest("'" + host.substr(0, 64) + "' is no host's name");
  if (request.size() > kMaxRequestBytes) return NoRequest("it is too long");
  const auto asked = FromPem<X509_REQ>(request, PEM_read_bio_X509_REQ);
  EVP_PKEY* key = asked == nullptr ? nullptr : X509_REQ_get0_pubkey(asked.get());
  if (key == nullptr || !IsOnCurve(key)) return NoRequest("expected PKCS #10 with a key on P-256");
  if (X509_REQ_verify(asked.get(), key) != 1) {
    ERR_clear_error();
    return NoRequest("its own key has not signed it");
  }
  return Sign(authority, {host, "clientAuth", "DNS:" + host}, key, validity);
}

base::Result<CertificateFacts> ReadCertificate(const std::string& certificate) {
  const auto read = FromPem<X509>(certificate, PEM_read_bio_X509);
  if (read == nullptr) return base::Error{base::Code::kInvalid, "expected a certificate as PEM"};
  return FactsOf(read.get());
}

}  // namespace trainctl::tls
