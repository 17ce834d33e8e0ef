#include "worker/rank/files/mapped_file.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "common/base/error_number.h"
#include "common/base/file.h"
#include "common/base/regular_file.h"

namespace trainctl::files {
namespace {

base::Result<std::span<const std::byte>> Map(int fd, const std::string& path) {
  struct stat status;
  if (fstat(fd, &status) != 0) return base::OsError("cannot stat '" + path + "'", errno);
  if (status.st_size == 0) return std::span<const std::byte>();
  void* address = mmap(nullptr, status.st_size, PROT_READ, MAP_SHARED, fd, 0);
  if (address == MAP_FAILED) return base::OsError("cannot map '" + path + "'", errno);
  return std::span(static_cast<const std::byte*>(address), status.st_size);
}

}  // namespace

base::Result<MappedFile> MappedFile::Open(const std::string& path) {
  const base::Result<base::Descriptor> file = base::OpenRegular(path);
  if (!file) return file.error();
  return OfDescriptor(file->get(), path);
}

base::Result<MappedFile> MappedFile::OfDescriptor(int fd, const std::string& path) {
  auto bytes = Map(fd, path);
  if (!bytes) return bytes.error();
  return MappedFile(path, *bytes);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)), bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

void MappedFile::AdviseSequential() const {
  if (!bytes_.empty())
    madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_SEQUENTIAL);
}

void MappedFile::AdviseRandom() const {
  if (!bytes_.empty()) madvise(const_cast<std::byte*>(bytes_.data()), bytes_.size(), MADV_RANDOM);
}

void MappedFile::Release(std::span<const std::byte> part) const {
  if (part.empty()) return;
  CHECK(part.data() >= bytes_.data() && part.data() + part.size() <= bytes_.data() + bytes_.size())
      << path_;
  const size_t page = sysconf(_SC_PAGESIZE);
  const size_t begin = (part.data() - bytes_.data()) / page * page;
  const size_t end = part.data() + part.size() - bytes_.data();
  madvise(const_cast<std::byte*>(bytes_.data()) + begin, end - begin, MADV_DONTNEED);
}

void ReadSoon(std::span<const std::byte> part) {
  if (part.empty()) return;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<uintptr_t>(part.data()), begin = at / page * page;
  madvise(reinterpret_cast<void*>(begin), at - begin + part.size(), MADV_WILLNEED);
}

}  // namespace trainctl::files
