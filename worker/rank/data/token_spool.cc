#include "worker/rank/data/token_spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "common/base/check.h"
#include "common/base/error_number.h"
#include "common/base/regular_file.h"

namespace trainctl::data {
namespace {

constexpr int64_t kWrittenAtOnce = 1 << 20;  // tokens

// At an offset, or where the file's own is. 0, or an errno.
int WriteTo(int fd, std::span<const std::byte> bytes, off_t at = -1) {
  while (!bytes.empty()) {
    const ssize_t written = at < 0 ? ::write(fd, bytes.data(), bytes.size())
                                   : ::pwrite(fd, bytes.data(), bytes.size(), at);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    bytes = bytes.subspan(static_cast<size_t>(written));
    if (at >= 0) at += written;
  }
  return 0;
}

}  // namespace

// ---- the file ----

SpoolFile::SpoolFile(SpoolFile&& other) noexcept { *this = std::move(other); }

SpoolFile& SpoolFile::operator=(SpoolFile&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(folder_, other.folder_);
  std::swap(name_, other.name_);
  std::swap(digest_, other.digest_);
  return *this;
}

SpoolFile::~SpoolFile() {
  if (!name_.empty()) ::unlink(name_.c_str());
  if (fd_ >= 0) ::close(fd_);
}

base::Error SpoolFile::Fault(int error) const {
  const base::Code code = base::CodeOfErrno(error);
  const std::string what =
      code == base::Code::kExhausted ? " does not fit into " : " can't be written to ";
  return {code, "what was made of the data" + what + folder_ + ": " + std::strerror(error)};
}

base::Result<SpoolFile> SpoolFile::OfPublished(const std::string& path) {
  auto opened = base::OpenRegular(path);
  if (!opened) return opened.error();
  SpoolFile file;
  file.fd_ = opened->Release();
  file.folder_ = std::filesystem::path(path).parent_path();
  return file;
}

base::Status SpoolFile::Open(const std::string& folder) {
  CHECK(fd_ < 0) << folder_;
  folder_ = folder;
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  fd_ = ::open(folder_.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0644);
  if (fd_ < 0) {
    std::string name = folder_ + "/" + std::string(kSpoolPrefix) + "XXXXXX";
    fd_ = ::mkostemp(name.data(), O_CLOEXEC);
    if (fd_ >= 0) name_ = name;
  }
  if (fd_ < 0) return Fault(errno);
  const std::byte head[kHeadBytes] = {};
  if (const int fault = WriteTo(fd_, head)) return Fault(fault);
  return base::Ok{};
}

base::Status SpoolFile::Append(std::span<const std::byte> bytes) {
  digest_.Update(bytes);
  if (const int fault = WriteTo(fd_, bytes)) return Fault(fault);
  return base::Ok{};
}

base::Status SpoolFile::WriteAt(std::span<const std::byte> bytes, int64_t begin) const {
  if (const int fault = WriteTo(fd_, bytes, begin)) return Fault(fault);
  return base::Ok{};
}

bool SpoolFile::Publish(std::span<const std::byte> head, const std::string& path) {
  CHECK(std::ssize(head) == kHeadBytes) << head.size();
  if (WriteTo(fd_, head, 0) != 0) return false;
  if (name_.empty()) {
    const std::string name = path + "." + std::to_string(::getpid()) + ".writing";
    ::unlink(name.c_str());
    if (::linkat(AT_FDCWD, OpenName().c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) != 0)
      return false;
    name_ = name;
  }
  if (std::rename(name_.c_str(), path.c_str()) != 0) return false;
  name_.clear();
  return true;
}

base::Result<files::MappedFile> SpoolFile::Map() const {
  return files::MappedFile::OfDescriptor(fd_, folder_ + "/spool");
}

// ---- the tokens ----

base::Status TokenSpool::Append(std::span<const int32_t> ids) {
  rest_.insert(rest_.end(), ids.begin(), ids.end());
  if (!no_file_) return size() > options_.most_in_memory ? no_file_ : base::Ok{};
  if (size() <= options_.tokens_in_memory || options_.folder.empty()) return base::Ok{};
  if (file_.is_open() && std::ssize(rest_) < kWrittenAtOnce) return base::Ok{};
  if (!file_.is_open()) {
    if (auto opened = file_.Open(options_.folder); !opened) return GiveUp(opened.error());
  }
  return Write();
}

base::Status TokenSpool::Write() {
  base::Status appended = base::Ok{};
  if (options_.width_bytes == 2) {
    const std::vector<uint16_t> narrow(rest_.begin(), rest_.end());
    appended = file_.Append(std::as_bytes(std::span(narrow)));
  } else {
    appended = file_.Append(std::as_bytes(std::span(rest_)));
  }
  if (!appended) return GiveUp(appended.error());
  written_ += std::ssize(rest_);
  rest_.clear();
  return base::Ok{};
}

base::Status TokenSpool::GiveUp(const base::Error& error) {
  no_file_ = error;
  if (size() > options_.most_in_memory) return no_file_;
  if (written_ > 0) {
    auto map = file_.Map();
    if (!map) return map.error();
    const TokenStore store(std::move(*map), SpoolFile::kHeadBytes, options_.width_bytes);
    std::vector<int32_t> all;
    for (int64_t i = 0; i < written_; ++i) all.push_back(static_cast<int32_t>(store[i]));
    all.insert(all.end(), rest_.begin(), rest_.end());
    rest_ = std::move(all);
  }
  written_ = 0;
  file_ = SpoolFile();
  return base::Ok{};
}

base::Result<TokenStore> TokenSpool::Take(SpoolFile* file) {
  if (file_.is_open() && !rest_.empty()) {
    if (auto wrote = Write(); !wrote) return wrote.error();
  }
  if (!file_.is_open()) return TokenStore(std::exchange(rest_, {}));
  auto map = file_.Map();
  if (!map) return map.error();
  *file = std::exchange(file_, SpoolFile());
  written_ = 0;
  return TokenStore(std::move(*map), SpoolFile::kHeadBytes, options_.width_bytes);
}

}  // namespace trainctl::data
