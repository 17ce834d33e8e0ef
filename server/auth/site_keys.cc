#include "server/auth/site_keys.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/base/file.h"
#include "common/base/secret_file.h"
#include "common/base/utf8.h"
#include "common/tls/authority_file.h"

namespace trainctl::auth {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kDay = int64_t{86'400} * kSecond;
constexpr int64_t kYears = 3650 * kDay;
constexpr int64_t kHour = 3'600 * kSecond;
constexpr int64_t kSkew = 60 * kSecond;   // of hosts' clocks
constexpr int64_t kEarlier = 12 * kHour;  // or a clock was set to the time of another zone
constexpr int64_t kAdminSeconds = int64_t{365} * 86'400;
constexpr size_t kMaxPemBytes = size_t{64} << 10;
constexpr unsigned kFolderOfOwner = 0700;
constexpr unsigned kWrittenByOthers = 022;

struct KeyFiles {
  explicit KeyFiles(const std::string& of) : folder(of) {}
  const std::string folder;
  const std::string authority = folder + "/ca.pem", authority_key = folder + "/ca.key";
  const std::string certificate = folder + "/coordinator.pem", key = folder + "/coordinator.key";
  const std::string tokens = folder + "/tokens", admin = folder + "/admin.token";
  const std::string revoked = folder + "/revoked";
};

base::Status MakeFolder(const std::string& folder) {
  std::error_code error;
  const bool made = std::filesystem::create_directories(folder, error);
  if (error) return base::Error{base::Code::kIo, folder + ": " + error.message()};
  if (made) {
    std::filesystem::permissions(folder, std::filesystem::perms(kFolderOfOwner), error);
    if (error) return base::Error{base::Code::kIo, folder + ": " + error.message()};
  }
  struct stat status{};
  if (::stat(folder.c_str(), &status) != 0)
    return base::Error{base::Code::kIo, folder + ": " + std::strerror(errno)};
  if (status.st_uid == ::geteuid() && (status.st_mode & kWrittenByOthers) == 0) return base::Ok{};
  return base::Error{base::Code::kDenied,
                     folder +
                         " is another user's, or others may write there: expected a folder "
                         "of one's own (chmod 700 " +
                         folder + ")"};
}

// Tokens that are there would be the new site's as well, whoever made them.
base::Status CheckNothingThere(const KeyFiles& files) {
  for (const std::string& file : {files.certificate, files.key, files.authority,
                                  files.authority_key, files.tokens, files.admin, files.revoked}) {
    struct stat status{};
    if (::lstat(file.c_str(), &status) == 0) {
      return base::Error{base::Code::kConflict,
                         file + " is there already, of a site: it is kept as it is"};
    }
    if (errno != ENOENT && errno != ENOTDIR)
      return base::Error{base::Code::kIo, file + ": " + std::strerror(errno)};
  }
  return base::Ok{};
}

// The coordinator's certificate comes last: a folder that has it has all.
base::Status WriteKeys(const KeyFiles& files, const tls::KeyPair& authority,
                       const tls::KeyPair& coordinator) {
  base::Status written = base::WriteSecretFile(files.authority_key, authority.key);
  if (written) written = base::WriteFileAtomically(files.authority, authority.certificate);
  if (written) written = base::WriteSecretFile(files.key, coordinator.key);
  if (written) written = base::WriteFileAtomically(files.certificate, coordinator.certificate);
  return written;
}

base::Result<tls::KeyPair> ReadPair(const std::string& certificate, const std::string& key,
                                    const std::string& folder) {
  auto text = base::ReadRegularFile(certificate, kMaxPemBytes);
  auto secret = text ? base::ReadSecretFile(key) : text;
  if (text && secret) return tls::KeyPair{std::move(*text), std::move(*secret)};
  const base::Error& error = text ? secret.error() : text.error();
  if (error.code != base::Code::kNotFound) return error;
  return base::Error{
      base::Code::kInvalid,
      "--site-keys: " + error.message + ": make it with traincoordinator init --dir " + folder};
}

// The names and addresses of loopback are added.
base::Result<tls::KeyPair> MakeCoordinator(const tls::KeyPair& authority,
                                           std::vector<std::string> hosts,
                                           const tls::Validity& validity) {
  for (const char* host : {"localhost", "127.0.0.1", "::1"}) {
    if (std::ranges::find(hosts, host) == hosts.end()) hosts.emplace_back(host);
  }
  return tls::MakeServerCertificate(authority, hosts, validity);
}

}  // namespace

base::Status InitSite(const std::string& folder, std::vector<std::string> hosts,
                      const base::Clock& clock) {
  const KeyFiles files(folder);
  base::Status done = CheckNothingThere(files);
  if (!done) return done;
  const tls::Validity validity{clock.Wall() - kHour, clock.Wall() + kYears};
  const auto authority = tls::MakeAuthority("trainctl site", validity);
  if (!authority) return authority.error();
  const auto coordinator = MakeCoordinator(*authority, std::move(hosts), validity);
  if (!coordinator) return coordinator.error();
  done = MakeFolder(folder);
  if (!done) return done;
  auto tokens = TokenTable::Open(files.tokens, clock);
  if (!tokens) return tokens.error();
  const auto admin = (*tokens)->Create({"admin", std::string(Name(Role::kAdmin)), kAdminSeconds});
  if (!admin) return admin.error();
  done = base::WriteSecretFile(files.admin, admin->text);
  if (done) done = WriteKeys(files, *authority, *coordinator);
  return done;
}

base::Status CertifyCoordinator(const std::string& folder, std::vector<std::string> hosts,
                                const base::Clock& clock) {
  const KeyFiles files(folder);
  const auto authority = ReadPair(files.authority, files.authority_key, folder);
  if (!authority) return authority.error();
  const auto facts = tls::ReadCertificate(authority->certificate);
  if (!facts)
    return base::Error{base::Code::kInvalid, files.authority + ": " + facts.error().message};
  const auto coordinator =
      MakeCoordinator(*authority, std::move(hosts), {clock.Wall() - kHour, facts->validity.until});
  if (!coordinator) return coordinator.error();
  const base::Status written = base::WriteSecretFile(files.key, coordinator->key);
  return written ? base::WriteFileAtomically(files.certificate, coordinator->certificate) : written;
}

base::Result<std::unique_ptr<SiteKeys>> SiteKeys::Open(const std::string& folder,
                                                       const base::Clock& clock) {
  const KeyFiles files(folder);
  std::unique_ptr<SiteKeys> keys(new SiteKeys(clock));
  auto authority = ReadPair(files.authority, files.authority_key, folder);
  if (!authority) return authority.error();
  if (const auto checked = tls::ReadAuthorityFile(files.authority); !checked)
    return checked.error();
  auto coordinator = ReadPair(files.certificate, files.key, folder);
  if (!coordinator) return coordinator.error();
  const auto facts = tls::ReadCertificate(coordinator->certificate);
  if (!facts)
    return base::Error{base::Code::kInvalid, files.certificate + ": " + facts.error().message};
  auto tokens = TokenTable::Open(files.tokens, clock);
  if (!tokens) return tokens.error();
  auto revoked = RevokedHosts::Open(files.revoked);
  if (!revoked) return revoked.error();
  keys->authority_ = std::move(*authority);
  keys->coordinator_ = std::move(*coordinator);
  keys->hosts_ = facts->hosts;
  keys->expires_at_ = facts->validity.until;
  keys->tokens_ = std::move(*tokens);
  keys->revoked_ = std::move(*revoked);
  return keys;
}

// One that is made in the second of the revocation bears the next one: certificates know no less.
base::Result<std::string> SiteKeys::CertifyWorker(const std::string& host,
                                                  const std::string& request) const {
  base::WallMicros made = clock_.Wall();
  if (const auto revoked = revoked_->At(host)) made = std::max(made, *revoked + kSecond);
  return tls::MakeWorkerCertificate(authority_, request, host,
                                    {made - kEarlier, made + kWorkerCertificateSeconds * kSecond});
}

base::Result<base::WallMicros> SiteKeys::CheckCertificate(const std::string& certificate) const {
  const auto facts = tls::ReadCertificate(certificate);
  if (!facts) return facts.error();
  if (facts->validity.until <= clock_.Wall()) {
    return base::Error{base::Code::kDenied,
                       "the certificate of host '" + facts->name +
                           "' has expired: trainworker join obtains another, with a token of "
                           "trainctl admin worker-token"};
  }
  const base::WallMicros made = facts->validity.until - kWorkerCertificateSeconds * kSecond;
  const base::Status unrevoked = CheckUnrevoked(facts->name, made);
  if (!unrevoked) return unrevoked.error();
  return made;
}

base::Status SiteKeys::CheckUnrevoked(const std::string& host, base::WallMicros made) const {
  const auto revoked = revoked_->At(host);
  if (!revoked || made / kSecond > *revoked / kSecond) return base::Ok{};
  return base::Error{base::Code::kDenied,
                     "the certificate of host '" + host +
                         "' was revoked by an admin: trainworker join obtains another, with a new "
                         "token of trainctl admin worker-token"};
}

base::Status SiteKeys::CheckHostName(const std::string& host) {
  if (tls::IsHostName(host)) return base::Ok{};
  return base::Error{base::Code::kInvalid, "'" + base::Excerpt(host, 64) +
                                               "': expected a host's name, as trainctl "
                                               "workers shows it before the '/'"};
}

base::Status SiteKeys::RevokeHost(const std::string& host) {
  if (base::Status named = CheckHostName(host); !named) return named;
  const base::WallMicros now = clock_.Wall();
  base::Status done = revoked_->Add(host, now, now - kWorkerCertificateSeconds * kSecond - kSkew);
  for (const Token& token : tokens_->List()) {
    if (done && token.joins && token.owner == host) done = tokens_->Revoke(token.id);
  }
  return done;
}

}  // namespace trainctl::auth
