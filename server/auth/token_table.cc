#include "server/auth/token_table.h"

#include <openssl/evp.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <utility>

#include "common/base/file.h"
#include "common/base/secret_file.h"
#include "common/tls/certificates.h"
#include "server/auth/permissions.h"

namespace trainctl::auth {
namespace {

constexpr size_t kMaxFileBytes = size_t{16} << 20;
constexpr size_t kTokenBytes = 32;
constexpr size_t kMaxOwnerBytes = 64;
constexpr std::string_view kPrefix = "trainctl_";  // so that a token that leaks is known as one
constexpr std::string_view kJoins = "worker";
constexpr int64_t kLeastSeconds = 60;
constexpr int64_t kMicros = 1'000'000;
constexpr unsigned kOwnerOnly = 0600;

std::string Hexadecimal(const unsigned char* bytes, size_t size) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < size; ++i) {
    text += kDigits[bytes[i] >> 4];
    text += kDigits[bytes[i] & 15];
  }
  return text;
}

// As of Unix users, and of mail addresses.
bool IsOwnerName(const std::string& name) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-' || c == '@';
  };
  return !name.empty() && name.size() <= kMaxOwnerBytes && std::ranges::all_of(name, is_plain);
}

base::Error InvalidToken(const std::string& text) { return {base::Code::kInvalid, text}; }

bool SetRole(const std::string& word, Token* token) {
  token->joins = word == kJoins;
  const auto role = ParseRole(word);
  if (role) token->role = *role;
  return token->joins || (role && *role != Role::kNone);
}

// A scope of which the role may call something; a join token has none.
base::Status SetScope(const std::string& text, Token* token) {
  const auto scopes = Scopes::Parse(text);
  if (!scopes) return scopes.error();
  for (const Scope scope : scopes->Named()) {
    if (MayUse(token->role, scope)) continue;
    return InvalidToken("scope '" + std::string(Name(scope)) + "': the role " +
                        std::string(RoleOf(*token)) + " may make no such call");
  }
  token->scopes = *scopes;
  return base::Ok{};
}

// "ID SHA256 OWNER ROLE CREATED EXPIRES [SCOPE]"
bool ReadLine(const std::string& line, Token* token) {
  std::istringstream words(line);
  std::string role, scope, more;
  words >> token->id >> token->hash >> token->owner >> role >> token->created_at >>
      token->expires_at;
  if (words.fail() || !SetRole(role, token)) return false;
  if (words >> scope && (words >> more || !SetScope(scope, token))) return false;
  return token->id > 0 && token->hash.size() == HashOf("").size() && IsOwnerName(token->owner);
}

std::string Line(const Token& token) {
  std::ostringstream line;
  line << token.id << ' ' << token.hash << ' ' << token.owner << ' ' << RoleOf(token) << ' '
       << token.created_at << ' ' << token.expires_at;
  if (const std::string scope = token.scopes.ToString(); !scope.empty()) line << ' ' << scope;
  line << '\n';
  return line.str();
}

base::Result<Token> TokenOf(const TokenWish& wish) {
  Token token{.owner = wish.owner};
  if (!SetRole(wish.role, &token)) {
    return InvalidToken("role '" + wish.role.substr(0, 64) +
                        "': expected viewer, user, operator or admin");
  }
  if (const base::Status fit = SetScope(wish.scope, &token); !fit) return fit.error();
  if (!token.joins && !wish.most.Include(token.scopes)) {
    return base::Error{base::Code::kDenied,
                       "a token of the scope " + wish.most.ToString() +
                           " makes none that is for more: name its scope, of these"};
  }
  const std::string owner = wish.owner.substr(0, kMaxOwnerBytes);
  if (token.joins && !tls::IsHostName(wish.owner))
    return InvalidToken("host '" + owner + "': expected a host's name, as hostname tells it there");
  if (!IsOwnerName(wish.owner)) {
    return InvalidToken("user '" + owner +
                        "': expected 1 to 64 letters, digits, '.', '_', '-' or '@'");
  }
  const int64_t most = token.joins ? TokenTable::kMostJoinSeconds : TokenTable::kMostSeconds;
  if (wish.seconds < kLeastSeconds || wish.seconds > most) {
    return InvalidToken(std::to_string(wish.seconds) + " s: expected a time from 1 minute to " +
                        std::to_string(most / 86'400) + " days");
  }
  return token;
}

}  // namespace

std::string_view RoleOf(const Token& token) { return token.joins ? kJoins : Name(token.role); }

Caller CallerOf(const Token& token) {
  Caller caller{.role = token.role, .tls = true, .scopes = token.scopes};
  caller.name = token.joins ? WorkersOf(token.owner) : token.owner;
  (token.joins ? caller.joins : caller.token) = token.id;
  if (token.joins) caller.host = token.owner;
  return caller;
}

base::Result<std::string> RandomText() {
  std::array<unsigned char, kTokenBytes> bytes{};
  if (RAND_bytes(bytes.data(), bytes.size()) != 1)
    return base::Error{base::Code::kInternal, "no random bytes are to be had"};
  return Hexadecimal(bytes.data(), bytes.size());
}

std::string HashOf(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  const int done =
      EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  CHECK(done == 1) << "SHA-256 failed";
  return Hexadecimal(digest.data(), size);
}

base::Result<std::unique_ptr<TokenTable>> TokenTable::Open(std::string path,
                                                           const base::Clock& clock) {
  std::unique_ptr<TokenTable> table(new TokenTable(std::move(path), clock));
  const base::Status loaded = table->Load();
  if (!loaded) return loaded.error();
  return table;
}

base::Status TokenTable::Load() {
  const auto text = base::ReadOwnFile(path_, kMaxFileBytes);
  if (!text && text.error().code == base::Code::kNotFound) return base::Ok{};
  if (!text) return text.error();
  std::istringstream lines(*text);
  std::string line, word;
  for (int number = 1; std::getline(lines, line); ++number) {
    Token token;
    std::istringstream words(line);
    if (number == 1 && words >> word >> next_ && word == "next" && next_ > 0) continue;
    if (number == 1 || !ReadLine(line, &token) || token.id >= next_ || tokens_.contains(token.id)) {
      return InvalidToken(path_ + ", line " + std::to_string(number) +
                          ": damaged: put back a copy, or move the file away and make new tokens");
    }
    by_hash_[token.hash] = token.id;
    tokens_[token.id] = std::move(token);
  }
  return base::Ok{};
}

base::Status TokenTable::Keep(Tokens tokens, int64_t next) {
  std::string text = "next " + std::to_string(next) + "\n";
  for (const auto& [id, token] : tokens) text += Line(token);
  base::Status saved = base::WriteFileAtomically(path_, text, kOwnerOnly);
  if (!saved) return saved;
  by_hash_.clear();
  for (const auto& [id, token] : tokens) by_hash_[token.hash] = id;
  tokens_ = std::move(tokens);
  next_ = next;
  return base::Ok{};
}

base::Result<NewToken> TokenTable::Create(const TokenWish& wish) {
  auto token = TokenOf(wish);
  if (!token) return token.error();
  auto random = RandomText();
  if (!random) return random.error();
  std::string text = std::string(kPrefix) + *random;
  const std::lock_guard lock(mutex_);
  const base::WallMicros now = clock_.Wall();
  Tokens tokens = tokens_;
  std::erase_if(
      tokens, [&](const auto& each) { return each.second.joins && each.second.expires_at <= now; });
  if (tokens.size() >= kMost) {
    return base::Error{base::Code::kExhausted,
                       std::to_string(kMost) + " tokens are there: revoke some"};
  }
  token->id = next_;
  token->hash = HashOf(text);
  token->created_at = now;
  token->expires_at = now + wish.seconds * kMicros;
  tokens[token->id] = *token;
  const base::Status kept = Keep(std::move(tokens), next_ + 1);
  if (!kept) return kept.error();
  return NewToken{std::move(*token), std::move(text)};
}

base::Status TokenTable::Revoke(int64_t id) {
  const std::lock_guard lock(mutex_);
  Tokens tokens = tokens_;
  if (tokens.erase(id) == 0) {
    return base::Error{base::Code::kNotFound,
                       "no token " + std::to_string(id) + ": trainctl admin token ls lists them"};
  }
  return Keep(std::move(tokens), next_);
}

std::vector<Token> TokenTable::List() const {
  const std::lock_guard lock(mutex_);
  std::vector<Token> tokens;
  for (const auto& [id, token] : tokens_) tokens.push_back(token);
  return tokens;
}

base::Result<Token> TokenTable::Find(std::string_view text) const {
  const std::string hash = HashOf(text);
  const std::lock_guard lock(mutex_);
  const auto found = by_hash_.find(hash);
  if (found == by_hash_.end()) {
    return base::Error{base::Code::kDenied,
                       "this token is not known here, was revoked, or was used and was for one "
                       "use: ask an admin for another"};
  }
  const Token& token = tokens_.at(found->second);
  if (const base::Status good = CheckUnexpired(token); !good) return good.error();
  return token;
}

base::Status TokenTable::Check(int64_t id) const {
  const std::lock_guard lock(mutex_);
  const auto found = tokens_.find(id);
  if (found != tokens_.end()) return CheckUnexpired(found->second);
  return base::Error{base::Code::kDenied,
                     "token " + std::to_string(id) + " was revoked: ask an admin for another"};
}

base::Status TokenTable::CheckUnexpired(const Token& token) const {
  if (token.expires_at > clock_.Wall()) return base::Ok{};
  return base::Error{base::Code::kDenied,
                     "the token of " + token.owner + " has expired: ask an admin for another"};
}

}  // namespace trainctl::auth
