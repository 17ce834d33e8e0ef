// What who connects says to a rank's listener, as it comes in pieces: a hello, then its proof. It
// knows no socket, so any bytes can be tried on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "worker/rank/comm/handshake.h"

namespace trainctl::comm {

class Greeting {
 public:
  // To the rank `listener`, whose answer will have this number.
  Greeting(const Secret& secret, const Nonce& nonce, int64_t listener);

  enum class State : uint8_t {
    kMore,     // more is to come
    kHello,    // the hello is whole: now answer() goes back, and then more is to come
    kProven,   // it knows the secret
    kRefused,  // it speaks something else, or does not know the secret
  };
  // Where the bytes go that come next: at least one until it is proven or refused, then none.
  std::span<std::byte> Next();
  // So many of them have come: from one to as many as Next() has.
  State Heard(size_t size);

  const Answer& answer() const { return answer_; }  // once the hello is whole
  const Hello& hello() const { return hello_; }     // to be believed once it is proven

 private:
  const Secret secret_;
  const int64_t listener_;
  Hello hello_;
  Answer answer_;
  Proof proof_{};
  size_t received_ = 0;  // of hello and proof together
  bool refused_ = false;
};

}  // namespace trainctl::comm
