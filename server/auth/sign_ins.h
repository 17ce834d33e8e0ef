// Browsers that have signed in at the dashboard: codes that are good once, and the sessions that
// begin with one or with a token. In memory alone: a restart signs everybody out.
//
// Both texts are 256 random bits; only their SHA-256 is held. Of a user the oldest gives way to one
// too many.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/result.h"
#include "server/auth/caller.h"
#include "server/auth/token_table.h"

namespace trainctl::auth {

// Thread-safe where the clock is.
class SignIns {
 public:
  static constexpr int64_t kCodeSeconds = 60;
  static constexpr int64_t kSessionSeconds = int64_t{12} * 3600;
  static constexpr size_t kMostOfUser = 16;  // codes, and sessions
  static constexpr size_t kMost = 1024;      // likewise

  // Both outlive it.
  SignIns(const base::Clock& clock, const TokenTable& tokens) : clock_(clock), tokens_(tokens) {}

  // The text of a code, by which its holder is this caller, once. kExhausted: there are kMost of
  // other users. kInternal: no randomness.
  base::Result<std::string> MakeCode(Caller caller);
  // Whose code it is; it is used up. kDenied: it is none, was used, is too old, or the token that
  // its caller came with is good no more.
  base::Result<Caller> UseCode(std::string_view text);

  // The text of a session of this caller. As MakeCode.
  base::Result<std::string> Begin(Caller caller);
  // Whose session it is, `session` being its number. kDenied: it is none, has ended, or as
  // UseCode.
  base::Result<Caller> Find(std::string_view text) const;
  // Nothing where it has ended already.
  void End(int64_t session);

  // Of a caller that was found then: kDenied where the session has ended since, or the token is
  // good no more.
  base::Status StillHolds(const Caller& caller) const;

 private:
  struct Entry {
    std::string hash;
    Caller caller;
    base::SteadyMicros ends_at = 0;
  };
  using Entries = std::list<Entry>;  // the oldest first

  base::Result<std::string> Add(Entries& entries, Caller caller, int64_t seconds);
  base::Status CheckToken(const Caller& caller) const;

  const base::Clock& clock_;
  const TokenTable& tokens_;
  mutable std::mutex mutex_;
  Entries codes_, sessions_;
  int64_t last_session_ = 0;
};

}  // namespace trainctl::auth
