#include "worker/rank/comm/handshake.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sys/random.h>

#include <bit>

#include "common/base/check.h"
#include "worker/rank/comm/comm_error.h"

namespace trainctl::comm {
namespace {

static_assert(std::endian::native == std::endian::little, "frames are structs in memory order");

struct Said {
  int32_t side = 0;  // so that neither side can send the other's proof back
  int32_t listener = 0;
  Hello hello;
  Nonce answer{};
};
static_assert(sizeof(Said) == 8 + sizeof(Hello) + sizeof(Nonce), "all of it is said");

}  // namespace

void FillRandom(std::span<std::byte> bytes) {
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(bytes.size())) {
    throw CommError("the kernel gave no random bytes for the group's secret");
  }
}

Proof ProofOf(Side side, const Secret& secret, const Hello& hello, const Nonce& answer,
              int64_t listener) {
  const Said said{static_cast<int32_t>(side), static_cast<int32_t>(listener), hello, answer};
  Proof proof;
  unsigned size = 0;
  HMAC(EVP_sha256(), secret.data(), static_cast<int>(secret.size()),
       reinterpret_cast<const unsigned char*>(&said), sizeof said,
       reinterpret_cast<unsigned char*>(proof.data()), &size);
  CHECK(size == proof.size()) << "OpenSSL makes no HMAC of SHA-256";
  return proof;
}

bool Same(const Proof& a, const Proof& b) {
  return CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace trainctl::comm
