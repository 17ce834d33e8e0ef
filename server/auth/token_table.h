// The bearer tokens of those who come over TLS. A person's has an owner, a role, a scope and an
// end. A join token is for one host, whose worker obtains one certificate with it.
//
// The text of a token is 256 random bits; it is told once, and only its SHA-256 is kept. The file
// has mode 0600, and a line for each token: "ID SHA256 OWNER ROLE CREATED EXPIRES [SCOPE]", times
// in wall micros. Without SCOPE, as all of version 0.1 are, it is for whatever its role may.
// The owner of a join token is its host, its role "worker". "next N" comes first, and is the id of
// the next one: ids are never used again.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/result.h"
#include "server/auth/caller.h"

namespace trainctl::auth {

struct Token {
  int64_t id = 0;
  std::string hash;   // of its text, in hexadecimal digits
  std::string owner;  // of a join token: the host
  Role role = Role::kNone;
  Scopes scopes;
  bool joins = false;
  base::WallMicros created_at = 0;
  base::WallMicros expires_at = 0;
};

// Its role, or "worker".
std::string_view RoleOf(const Token& token);

// Who comes over TLS with this token.
Caller CallerOf(const Token& token);

struct NewToken {
  Token token;
  std::string text;  // the secret
};

struct TokenWish {
  std::string owner;
  std::string role;  // viewer, user, operator, admin; worker: a join token
  int64_t seconds = 0;
  std::string scope = {};  // as Scopes reads it
  Scopes most = {};        // of who asks for it: no token makes one that is for more
};

// Thread-safe where the clock is.
class TokenTable {
 public:
  static constexpr size_t kMost = 10'000;
  static constexpr int64_t kMostSeconds = int64_t{3650} * 86'400;
  static constexpr int64_t kMostJoinSeconds = int64_t{7} * 86'400;

  // A missing file has no tokens. kInvalid: the file is damaged, the line is named. kDenied: others
  // may write it, or it is another user's. kIo.
  static base::Result<std::unique_ptr<TokenTable>> Open(std::string path, const base::Clock& clock);

  // On the disk when it returns; join tokens that have expired are forgotten. kInvalid: no name
  // that may own jobs, or no host's, no role, no scope of that role, or no such time. kDenied: its
  // scope is more than the most. kExhausted: there are kMost. kIo.
  base::Result<NewToken> Create(const TokenWish& wish);
  // kNotFound. kIo: it is still valid.
  base::Status Revoke(int64_t id);
  // By id, those that have expired too.
  std::vector<Token> List() const;
  // The token of this text. kDenied: it is none, was revoked or has expired.
  base::Result<Token> Find(std::string_view text) const;
  // Whether the token that was found then is good still. kDenied, as Find.
  base::Status Check(int64_t id) const;

 private:
  base::Status CheckUnexpired(const Token& token) const;

  using Tokens = std::map<int64_t, Token>;

  TokenTable(std::string path, const base::Clock& clock) : path_(std::move(path)), clock_(clock) {}
  base::Status Load();
  base::Status Keep(Tokens tokens, int64_t next);

  const std::string path_;
  const base::Clock& clock_;
  mutable std::mutex mutex_;
  Tokens tokens_;
  std::map<std::string, int64_t, std::less<>> by_hash_;
  int64_t next_ = 1;
};

// SHA-256, in hexadecimal digits.
std::string HashOf(std::string_view text);

// A new secret: 256 random bits in hexadecimal digits. kInternal: there are none to be had.
base::Result<std::string> RandomText();

}  // namespace trainctl::auth
