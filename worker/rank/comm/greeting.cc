#include "worker/rank/comm/greeting.h"

#include "common/base/check.h"

namespace trainctl::comm {

Greeting::Greeting(const Secret& secret, const Nonce& nonce, int64_t listener)
    : secret_(secret), listener_(listener), answer_{.nonce = nonce} {}

std::span<std::byte> Greeting::Next() {
  if (refused_) return {};
  if (received_ < sizeof(Hello)) return Bytes(hello_).subspan(received_);
  return Bytes(proof_).subspan(received_ - sizeof(Hello));
}

Greeting::State Greeting::Heard(size_t size) {
  CHECK(size >= 1 && size <= Next().size()) << size << " of " << Next().size();
  received_ += size;
  if (received_ == sizeof(Hello)) {
    refused_ = hello_.magic != kMagic;
    if (refused_) return State::kRefused;
    answer_.proof = ProofOf(Side::kListens, secret_, hello_, answer_.nonce, listener_);
    return State::kHello;
  }
  if (received_ < sizeof(Hello) + sizeof(Proof)) return State::kMore;
  const Proof expected = ProofOf(Side::kConnects, secret_, hello_, answer_.nonce, listener_);
  refused_ = !Same(proof_, expected);
  return refused_ ? State::kRefused : State::kProven;
}

}  // namespace trainctl::comm
