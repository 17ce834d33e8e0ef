#include "common/peer/socket_owner.h"

#include <arpa/inet.h>
#include <pwd.h>

#include <charconv>
#include <cstdio>
#include <cstring>
#include <vector>

#include "common/base/file.h"
#include "common/peer/socket_diag.h"

namespace trainctl::peer {
namespace {

constexpr size_t kMaxTableBytes = size_t{256} << 20;  // a million connections and more
constexpr int kMostLooks = 5;
constexpr std::string_view kEstablished = "01";  // TCP_ESTABLISHED of the kernel
// Behind the state: queues, timer, retransmits, then user, timeout, inode.
constexpr int kFieldsBeforeUser = 3;
constexpr std::string_view kNumberedUser = "uid:";  // one without a name
constexpr uint64_t kAllUsers = 4294967295;          // that a namespace can map
constexpr uid_t kUsualOverflowUser = 65534;
constexpr size_t kV4Offset = 12;  // of an IPv4 address in one of IPv6

bool IsV4(const Endpoint& endpoint) {
  constexpr std::array<uint8_t, kV4Offset> kPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::memcmp(endpoint.address.data(), kPrefix.data(), kPrefix.size()) == 0;
}

// As the kernel prints it: the address as words of this machine's byte order, then the port.
std::string KernelText(const Endpoint& endpoint, size_t first_byte) {
  std::string text;
  char part[9];
  for (size_t byte = first_byte; byte < endpoint.address.size(); byte += sizeof(uint32_t)) {
    uint32_t word = 0;
    std::memcpy(&word, &endpoint.address[byte], sizeof word);
    std::snprintf(part, sizeof part, "%08X", word);
    text += part;
  }
  std::snprintf(part, sizeof part, "%04X", static_cast<unsigned>(endpoint.port));
  return text + ':' + part;
}

// Takes the next word off the line.
std::string_view TakeWord(std::string_view* line) {
  const size_t begin = std::min(line->find_first_not_of(' '), line->size());
  const size_t end = std::min(line->find(' ', begin), line->size());
  const std::string_view word = line->substr(begin, end - begin);
  line->remove_prefix(end);
  return word;
}

template <class Number>
bool ReadNumber(std::string_view word, Number* number) {
  const char* end = word.data() + word.size();
  return std::from_chars(word.data(), end, *number) == std::from_chars_result{end, std::errc()};
}

std::optional<SocketRecord> ReadRecord(std::string_view behind_state) {
  SocketRecord record;
  for (int field = 0; field < kFieldsBeforeUser; ++field) TakeWord(&behind_state);
  if (!ReadNumber(TakeWord(&behind_state), &record.user)) return std::nullopt;
  TakeWord(&behind_state);
  if (!ReadNumber(TakeWord(&behind_state), &record.inode)) return std::nullopt;
  if (record.inode == 0) return std::nullopt;  // no process has it any more
  return record;
}

std::optional<SocketRecord> FindLine(std::string_view table, const std::string& local,
                                     const std::string& remote) {
  const std::string wanted = " " + local + " " + remote + " " + std::string(kEstablished) + " ";
  const size_t found = table.find(wanted);
  if (found == std::string_view::npos) return std::nullopt;
  const std::string_view rest = table.substr(found + wanted.size());
  return ReadRecord(rest.substr(0, rest.find('\n')));
}

// In both tables: a socket of IPv6 may speak IPv4.
base::Result<std::optional<SocketRecord>> LookInTables(const Endpoint& local,
                                                       const Endpoint& remote) {
  for (const char* path : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    const auto table = base::ReadFile(path, kMaxTableBytes);
    if (!table && table.error().code == base::Code::kNotFound) continue;  // no IPv6 here
    if (!table) return table.error();
    if (const auto record = FindSocket(*table, local, remote)) return record;
  }
  return std::optional<SocketRecord>();
}

// A site of many workers has thousands of connections, so the tables are for systems that know no
// netlink.
base::Result<std::optional<SocketRecord>> Look(const Endpoint& local, const Endpoint& remote) {
  auto asked = AskForSocket(local, remote);
  return asked ? asked : LookInTables(local, remote);
}

}  // namespace

std::optional<Endpoint> ParseEndpoint(std::string_view text) {
  if (text.starts_with("ipv4:") || text.starts_with("ipv6:")) text.remove_prefix(5);
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string host(text.substr(0, colon));
  if (host.starts_with("%5B") && host.ends_with("%5D")) host = host.substr(3, host.size() - 6);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  Endpoint endpoint;
  if (!ReadNumber(text.substr(colon + 1), &endpoint.port)) return std::nullopt;
  if (host.find(':') == std::string::npos) host = "::ffff:" + host;
  if (inet_pton(AF_INET6, host.c_str(), endpoint.address.data()) != 1) return std::nullopt;
  return endpoint;
}

std::string ToString(const Endpoint& endpoint) {
  char text[INET6_ADDRSTRLEN];
  const std::string port = ":" + std::to_string(endpoint.port);
  if (IsV4(endpoint)) {
    inet_ntop(AF_INET, &endpoint.address[kV4Offset], text, sizeof text);
    return text + port;
  }
  inet_ntop(AF_INET6, endpoint.address.data(), text, sizeof text);
  return "[" + std::string(text) + "]" + port;
}

std::optional<SocketRecord> FindSocket(std::string_view table, const Endpoint& local,
                                       const Endpoint& remote) {
  if (auto record = FindLine(table, KernelText(local, 0), KernelText(remote, 0))) return record;
  if (!IsV4(local) || !IsV4(remote)) return std::nullopt;
  return FindLine(table, KernelText(local, kV4Offset), KernelText(remote, kV4Offset));
}

bool Stands(const Endpoint& local, const Endpoint& remote) {
  const auto record = Look(local, remote);
  return record && *record;
}

bool MapsAllUsers(std::string_view uid_map) {
  uint64_t users = 0;
  while (!uid_map.empty()) {
    const size_t end = std::min(uid_map.find('\n'), uid_map.size());
    std::string_view line = uid_map.substr(0, end);
    uid_map.remove_prefix(std::min(end + 1, uid_map.size()));
    TakeWord(&line);
    TakeWord(&line);
    uint32_t count = 0;
    if (ReadNumber(TakeWord(&line), &count)) users += count;
  }
  return users >= kAllUsers;
}

base::Status CheckKnown(uid_t user) {
  uid_t overflow = kUsualOverflowUser;
  if (const auto text = base::ReadFile("/proc/sys/kernel/overflowuid", 64))
    ReadNumber(std::string_view(*text).substr(0, text->find('\n')), &overflow);
  if (user != overflow) return base::Ok{};
  const auto map = base::ReadFile("/proc/self/uid_map", size_t{1} << 20);
  if (map && MapsAllUsers(*map)) return base::Ok{};
  return base::Error{base::Code::kDenied,
                     "who is at the other end is not known: this program runs in a user namespace, "
                     "which shows all users outside of it as " +
                         std::to_string(user)};
}

base::Result<uid_t> OwnerOfSocket(const Endpoint& client, const Endpoint& server) {
  std::optional<SocketRecord> last, last_own;
  for (int look = 0; look < kMostLooks; ++look) {
    // Where our end is closing, the client has closed its own: the port may be another's by now.
    const auto own = Look(server, client);
    if (!own) return own.error();
    const auto record = Look(client, server);
    if (!record) return record.error();
    const bool same = *own && *own == last_own && *record && *record == last;
    last = *record;
    last_own = *own;
    if (!same) continue;
    const auto own_still = Look(server, client);
    if (!own_still) return own_still.error();
    if (*own_still != last_own) continue;
    const base::Status known = CheckKnown(last->user);
    if (!known) return known.error();
    return last->user;
  }
  return base::Error{base::Code::kDenied,
                     "who calls is not known: this host's kernel shows no such connection"};
}

std::string UserName(uid_t user) {
  std::vector<char> buffer(size_t{16} << 10);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(user, &entry, buffer.data(), buffer.size(), &found) == 0 && found != nullptr)
    return entry.pw_name;
  return std::string(kNumberedUser) + std::to_string(user);
}

bool IsUserName(const std::string& name) {
  uid_t number = 0;
  if (name.starts_with(kNumberedUser))
    return ReadNumber(std::string_view(name).substr(kNumberedUser.size()), &number);
  std::vector<char> buffer(size_t{16} << 10);
  passwd entry{};
  passwd* found = nullptr;
  return getpwnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 &&
         found != nullptr;
}

}  // namespace trainctl::peer
