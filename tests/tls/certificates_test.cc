// Certificates as OpenSSL's own verification sees them.
#include "common/tls/certificates.h"

#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

#include <memory>
#include <vector>

namespace trainctl::tls {
namespace {

constexpr int64_t kDay = int64_t{86'400} * 1'000'000;
constexpr int64_t kNow = 20'000 * kDay;
constexpr Validity kTenDays{kNow, kNow + 10 * kDay};

using Certificate = std::unique_ptr<X509, decltype(&X509_free)>;

Certificate Read(const std::string& pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  Certificate certificate(PEM_read_bio_X509(bio, nullptr, nullptr, nullptr), &X509_free);
  BIO_free(bio);
  return certificate;
}

struct Question {
  int purpose = X509_PURPOSE_SSL_SERVER;
  std::string host;  // empty: any
  int64_t at = kNow + kDay;
};

// Whether the authority vouches for the certificate.
bool Verifies(const KeyPair& authority, const std::string& certificate, const Question& question) {
  const Certificate root = Read(authority.certificate), leaf = Read(certificate);
  X509_STORE* store = X509_STORE_new();
  X509_STORE_add_cert(store, root.get());
  X509_STORE_CTX* context = X509_STORE_CTX_new();
  X509_STORE_CTX_init(context, store, leaf.get(), nullptr);
  X509_STORE_CTX_set_purpose(context, question.purpose);
  X509_VERIFY_PARAM* wanted = X509_STORE_CTX_get0_param(context);
  X509_VERIFY_PARAM_set_time(wanted, question.at / 1'000'000);
  if (!question.host.empty() && X509_VERIFY_PARAM_set1_ip_asc(wanted, question.host.c_str()) != 1)
    X509_VERIFY_PARAM_set1_host(wanted, question.host.c_str(), 0);
  const bool verified = X509_verify_cert(context) == 1;
  X509_STORE_CTX_free(context);
  X509_STORE_free(store);
  return verified;
}

KeyPair Authority() {
  return MakeAuthority("trainctl site", {kNow - kDay, kNow + 100 * kDay}).value();
}

TEST(Certificates, TheAuthorityVouchesForTheServerUnderItsNamesAlone) {
  const KeyPair authority = Authority();
  const std::string server =
      MakeServerCertificate(authority, {"gpu-host.example", "10.0.0.7", "::1"}, kTenDays)
          .value()
          .certificate;
  for (const char* host : {"gpu-host.example", "10.0.0.7", "::1"})
    EXPECT_TRUE(Verifies(authority, server, {.host = host})) << host;
  for (const char* host : {"other.example", "example", "10.0.0.8"})
    EXPECT_FALSE(Verifies(authority, server, {.host = host})) << host;
  EXPECT_FALSE(Verifies(authority, server, {.purpose = X509_PURPOSE_SSL_CLIENT}))
      << "a coordinator's certificate makes no worker";
}

TEST(Certificates, AnotherAuthorityOfTheSameNameDoesNot) {
  const KeyPair authority = Authority();
  const auto server = MakeServerCertificate(authority, {"gpu-host"}, kTenDays).value();
  EXPECT_TRUE(Verifies(authority, server.certificate, {}));
  EXPECT_FALSE(Verifies(Authority(), server.certificate, {}));
}

TEST(Certificates, TheyAreValidFromTheirFirstSecondToTheirLast) {
  const KeyPair authority = Authority();
  const auto server = MakeServerCertificate(authority, {"gpu-host"}, kTenDays).value();
  EXPECT_TRUE(Verifies(authority, server.certificate, {.at = kTenDays.until - 1'000'000}));
  EXPECT_FALSE(Verifies(authority, server.certificate, {.at = kTenDays.until + 1'000'000}));
  EXPECT_FALSE(Verifies(authority, server.certificate, {.at = kTenDays.from - 1'000'000}));
  const CertificateFacts facts = ReadCertificate(server.certificate).value();
  EXPECT_EQ(facts.name, "gpu-host");
  EXPECT_EQ(facts.validity.from, kTenDays.from);
  EXPECT_EQ(facts.validity.until, kTenDays.until);
}

TEST(Certificates, HostsMustBeNamesOrAddresses) {
  const KeyPair authority = Authority();
  for (const std::vector<std::string>& hosts :
       std::vector<std::vector<std::string>>{{}, {""}, {"a b"}, {"a,DNS:b"}, {"host:7070"}}) {
    const auto made = MakeServerCertificate(authority, hosts, kTenDays);
    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, base::Code::kInvalid);
  }
}

TEST(Certificates, AWorkersIsOfTheHostThatTheAuthorityNames) {
  const KeyPair authority = Authority();
  const std::string key = MakeKey().value();
  const std::string made =
      MakeWorkerCertificate(authority, MakeRequest(key).value(), "gpu-1", kTenDays).value();
  EXPECT_TRUE(Verifies(authority, made, {.purpose = X509_PURPOSE_SSL_CLIENT}));
  EXPECT_FALSE(Verifies(authority, made, {.purpose = X509_PURPOSE_SSL_SERVER}))
      << "a worker can't pose as the coordinator";
  EXPECT_EQ(ReadCertificate(made).value().name, "gpu-1");
}

TEST(Certificates, ARequestThatIsNoneOrWasChangedIsRefused) {
  const KeyPair authority = Authority();
  const std::string request = MakeRequest(MakeKey().value()).value();
  const auto refused = [&](const std::string& text, const std::string& host = "gpu-1") {
    const auto made = MakeWorkerCertificate(authority, text, host, kTenDays);
    return !made.ok() && made.error().code == base::Code::kInvalid;
  };
  for (size_t length = 0; length < request.size() - 1; ++length)
    EXPECT_TRUE(refused(request.substr(0, length))) << length;
  // The last characters before the footer may have bits that say nothing.
  for (size_t place = 30; place + 38 < request.size(); place += 7) {
    std::string changed = request;
    changed[place] = changed[place] == 'A' ? 'B' : 'A';
    EXPECT_TRUE(changed == request || refused(changed)) << place;
  }
  EXPECT_TRUE(refused(authority.certificate));
  EXPECT_TRUE(refused(std::string(1 << 20, 'x')));
  EXPECT_TRUE(refused(request, "a b"));
  EXPECT_TRUE(refused(request, ""));
  EXPECT_FALSE(refused(request));
}

TEST(Certificates, OtherTextsAreNone) {
  EXPECT_EQ(ReadCertificate("").error().code, base::Code::kInvalid);
  EXPECT_EQ(ReadCertificate(Authority().key).error().code, base::Code::kInvalid);
  EXPECT_EQ(MakeRequest("no key").error().code, base::Code::kInvalid);
}

}  // namespace
}  // namespace trainctl::tls
