#include "common/base/secret_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "common/base/error_number.h"
#include "common/base/file.h"
#include "common/base/regular_file.h"

namespace trainctl::base {
namespace {

constexpr size_t kMaxSecretBytes = size_t{64} << 10;
constexpr unsigned kOwnerOnly = 0600;
constexpr unsigned kOthers = 077;

enum class Whose { kAnybodys, kOurs };

Status CheckClosed(int fd, const std::string& path, Whose whose) {
  struct stat status{};
  if (::fstat(fd, &status) != 0) return OsError("cannot read " + path, errno);
  if ((status.st_mode & kOthers) != 0) {
    return Error{Code::kDenied,
                 path + " holds a secret and is open to other users: chmod 600 " + path};
  }
  if (whose == Whose::kOurs && status.st_uid != ::geteuid() && status.st_uid != 0) {
    return Error{Code::kDenied, path + " is another user's: chown it to the user that reads it"};
  }
  return Ok{};
}

Result<std::string> ReadWhole(const std::string& path, size_t max_bytes, Whose whose) {
  const Result<Descriptor> file = OpenRegular(path);
  if (!file) return file.error();
  if (const Status closed = CheckClosed(file->get(), path, whose); !closed) return closed.error();
  std::string text;
  std::array<char, size_t{16} << 10> buffer{};
  while (true) {
    const ssize_t count = ::read(file->get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return OsError("cannot read " + path, errno);
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<size_t>(count));
    if (text.size() > max_bytes) {
      return Error{Code::kInvalid, path + " is larger than " + std::to_string(max_bytes) +
                                       " bytes, the most that is read here"};
    }
  }
}

}  // namespace

Result<std::string> ReadSecretFile(const std::string& path) {
  auto text = ReadWhole(path, kMaxSecretBytes, Whose::kAnybodys);
  if (!text) return text;
  text->erase(text->find_last_not_of(" \r\n\t") + 1);
  if (text->empty()) return Error{Code::kInvalid, path + " is empty: expected a secret"};
  return text;
}

Result<std::string> ReadTokenFile(const std::string& path) {
  auto token = ReadSecretFile(path);
  if (!token) return token;
  if (std::ranges::all_of(*token, [](char c) { return c > ' ' && c <= '~'; })) return token;
  return Error{Code::kInvalid,
               path + " holds no token: expected one word of visible ASCII characters"};
}

Result<std::string> ReadOwnFile(const std::string& path, size_t max_bytes) {
  return ReadWhole(path, max_bytes, Whose::kOurs);
}

Status WriteSecretFile(const std::string& path, const std::string& secret) {
  return WriteFileAtomically(path, secret + "\n", kOwnerOnly);
}

}  // namespace trainctl::base
