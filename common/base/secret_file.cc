#include "common/base/secret_file.h"

#include <sys/stat.h>

#include "common/base/file.h"

namespace trainctl::base {
namespace {

constexpr size_t kMaxSecretBytes = size_t{64} << 10;
constexpr unsigned kOwnerOnly = 0600;
constexpr unsigned kOthers = 077;

}  // namespace

Result<std::string> ReadSecretFile(const std::string& path) {
  struct stat status{};
  if (stat(path.c_str(), &status) == 0 && (status.st_mode & kOthers) != 0) {
    return Error{Code::kDenied,
                 path + " holds a secret and is open to other users: chmod 600 " + path};
  }
  auto text = ReadRegularFile(path, kMaxSecretBytes);
  if (!text) return text;
  text->erase(text->find_last_not_of(" \r\n\t") + 1);
  if (text->empty()) return Error{Code::kInvalid, path + " is empty: expected a secret"};
  return text;
}

Status WriteSecretFile(const std::string& path, const std::string& secret) {
  return WriteFileAtomically(path, secret + "\n", kOwnerOnly);
}

}  // namespace trainctl::base
