#include "server/auth/revoked_hosts.h"

#include <sstream>
#include <utility>

#include "common/base/file.h"
#include "common/base/secret_file.h"
#include "common/tls/certificates.h"

namespace trainctl::auth {
namespace {

constexpr size_t kMaxFileBytes = size_t{4} << 20;
constexpr unsigned kOwnerOnly = 0600;

}  // namespace

base::Result<std::unique_ptr<RevokedHosts>> RevokedHosts::Open(std::string path) {
  std::unique_ptr<RevokedHosts> revoked(new RevokedHosts(std::move(path)));
  if (const base::Status loaded = revoked->Load(); !loaded) return loaded.error();
  return revoked;
}

base::Status RevokedHosts::Load() {
  const auto text = base::ReadOwnFile(path_, kMaxFileBytes);
  if (!text && text.error().code == base::Code::kNotFound) return base::Ok{};
  if (!text) return text.error();
  std::istringstream lines(*text);
  std::string line, host, more;
  for (int number = 1; std::getline(lines, line); ++number) {
    std::istringstream words(line);
    base::WallMicros at = 0;
    const bool is_good = words >> host >> at && !(words >> more) && tls::IsHostName(host);
    if (!is_good) {
      return base::Error{base::Code::kInvalid, path_ + ", line " + std::to_string(number) +
                                                   ": damaged: expected HOST AT; put back a copy"};
    }
    hosts_[host] = at;
  }
  return base::Ok{};
}

base::Status RevokedHosts::Add(const std::string& host, base::WallMicros at,
                               base::WallMicros forgotten) {
  const std::lock_guard lock(mutex_);
  Hosts hosts = hosts_;
  std::erase_if(hosts, [&](const auto& each) { return each.second < forgotten; });
  hosts[host] = at;
  if (hosts.size() > kMost) {
    return base::Error{base::Code::kExhausted,
                       std::to_string(kMost) + " hosts are revoked already: make a new site"};
  }
  std::string text;
  for (const auto& [name, since] : hosts) text += name + " " + std::to_string(since) + "\n";
  base::Status saved = base::WriteFileAtomically(path_, text, kOwnerOnly);
  if (saved) hosts_ = std::move(hosts);
  return saved;
}

std::optional<base::WallMicros> RevokedHosts::At(const std::string& host) const {
  const std::lock_guard lock(mutex_);
  const auto found = hosts_.find(host);
  return found == hosts_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace trainctl::auth
