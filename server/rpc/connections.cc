#include "server/rpc/connections.h"

#include <sys/socket.h>
#include <unistd.h>

#include <charconv>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

namespace trainctl::rpc {
namespace {

constexpr std::string_view kPeerPrefix = "fd:";

// 0: the descriptor is no socket.
uint64_t CookieOf(int file) {
  uint64_t cookie = 0;
  socklen_t size = sizeof cookie;
  return getsockopt(file, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

std::optional<int> FileOf(std::string_view peer) {
  if (!peer.starts_with(kPeerPrefix)) return std::nullopt;
  peer.remove_prefix(kPeerPrefix.size());
  int file = -1;
  const char* end = peer.data() + peer.size();
  const auto read = std::from_chars(peer.data(), end, file);
  if (read.ec != std::errc() || read.ptr != end) return std::nullopt;
  return file;
}

// All who can't be proven are one.
std::string WhoseIs(const Connection& connection) {
  if (connection.tls) return connection.address.substr(0, connection.address.rfind(':'));
  return connection.user ? "uid:" + std::to_string(connection.user->id) : "unknown";
}

base::Error TooMany(const std::string& user, size_t bound) {
  return {base::Code::kExhausted,
          user + " has " + std::to_string(bound) +
              " connections to the coordinator already, and may not have more "
              "(traincoordinator --user-connections): end programs that watch or follow jobs"};
}

}  // namespace

bool Connections::Add(int file, Connection connection) {
  const auto& user = connection.user;
  const std::string whose = WhoseIs(connection);
  const bool bounded = !user || !auth::CallerOf(*user, geteuid(), policy_).is_worker;
  Entry entry{std::move(connection), whose, 0, CookieOf(file), bounded};
  const std::lock_guard lock(mutex_);
  Forget(file);  // closed meanwhile
  const auto count = [&] {
    const auto found = of_user_.find(entry.whose);
    return found == of_user_.end() ? 0 : found->second.size();
  };
  if (entry.bounded && count() >= BoundOf(entry)) ForgetClosed(entry.whose);
  if (entry.bounded && count() >= BoundOf(entry)) return false;
  if (entries_.size() >= bounds_.all) {
    std::vector<std::string> all;
    for (const auto& [other, files] : of_user_) all.push_back(other);
    for (const std::string& other : all) ForgetClosed(other);
  }
  if (entries_.size() >= bounds_.all) return false;
  entry.number = ++last_number_;
  of_user_[entry.whose][entry.number] = file;
  entries_.emplace(file, std::move(entry));
  return true;
}

// Who comes over TLS is told nothing before the handshake.
size_t Connections::BoundOf(const Entry& entry) const {
  return bounds_.of_user + (entry.connection.tls ? 0 : bounds_.beyond);
}

base::Result<Connection> Connections::Find(std::string_view peer) {
  const std::lock_guard lock(mutex_);
  const auto file = FileOf(peer);
  auto found = file ? entries_.find(*file) : entries_.end();
  if (found != entries_.end() && IsBeyond(found->second)) {
    ForgetClosed(std::string(found->second.whose));
    found = entries_.find(*file);
  }
  if (found == entries_.end()) {
    return base::Error{base::Code::kDenied, "who calls is not known: '" + std::string(peer) +
                                                "' is no connection of the port"};
  }
  const Connection& connection = found->second.connection;
  if (!IsBeyond(found->second)) return connection;
  const auto& user = connection.user;
  return TooMany(user ? user->name : "whoever is not known", bounds_.of_user);
}

size_t Connections::size() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

bool Connections::IsBeyond(const Entry& entry) const {
  const OfUser& files = of_user_.at(entry.whose);
  if (!entry.bounded || files.size() <= bounds_.of_user) return false;
  const auto older = std::distance(files.begin(), files.find(entry.number));
  return static_cast<size_t>(older) >= bounds_.of_user;
}

void Connections::Forget(int file) {
  const auto found = entries_.find(file);
  if (found == entries_.end()) return;
  const auto of_user = of_user_.find(found->second.whose);
  of_user->second.erase(found->second.number);
  if (of_user->second.empty()) of_user_.erase(of_user);
  entries_.erase(found);
}

void Connections::ForgetClosed(const std::string& whose) {
  const auto found = of_user_.find(whose);
  if (found == of_user_.end()) return;
  const OfUser files = found->second;
  for (const auto& [number, file] : files) {
    if (CookieOf(file) != entries_.at(file).cookie) Forget(file);
  }
}

}  // namespace trainctl::rpc
