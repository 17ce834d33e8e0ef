#include "tests/server/crashing_disk.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <new>
#include <sstream>
#include <utility>

#include "common/base/check.h"

namespace trainctl::store {
namespace {

constexpr int64_t kSector = 512;
constexpr const char* kName = "crashing";

CrashingDisk* disk = nullptr;  // that lives
sqlite3_vfs* real = nullptr;   // that it stands on

std::string ReadFile(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

// The sector of `from`, as far as it has it, in its place in `to`.
void CopySector(const std::string& from, int64_t sector, std::string* to) {
  const auto at = static_cast<size_t>(sector * kSector);
  if (at >= from.size()) return;
  const std::string_view content = std::string_view(from).substr(at, kSector);
  to->resize(std::max(to->size(), at + content.size()));
  to->replace(at, content.size(), content);
}

// SQLite allocates szOsFile bytes for it: the real file follows.
struct File {
  sqlite3_file base;
  std::string* path;  // null: SQLite does not name it
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
};

File& Of(sqlite3_file* file) { return *reinterpret_cast<File*>(file); }

int Close(sqlite3_file* file) {
  delete std::exchange(Of(file).path, nullptr);
  return Of(file).real()->pMethods->xClose(Of(file).real());
}

int Write(sqlite3_file* file, const void* data, int bytes, sqlite3_int64 offset) {
  if (Of(file).path != nullptr) disk->BeforeWrite(*Of(file).path, offset, bytes);
  return Of(file).real()->pMethods->xWrite(Of(file).real(), data, bytes, offset);
}

// The real disk need not be asked: this host does not crash.
int Sync(sqlite3_file* file, int) {
  if (Of(file).path == nullptr) return SQLITE_OK;
  disk->BeforeSync(*Of(file).path);
  disk->Synced(*Of(file).path);
  return SQLITE_OK;
}

// A call that is the real file's.
template <auto kMethod, class... Arguments>
int Forward(sqlite3_file* file, Arguments... arguments) {
  return (Of(file).real()->pMethods->*kMethod)(Of(file).real(), arguments...);
}

void Barrier(sqlite3_file* file) { Of(file).real()->pMethods->xShmBarrier(Of(file).real()); }

constexpr sqlite3_io_methods kMethods = {
    .iVersion = 2,
    .xClose = Close,
    .xRead = Forward<&sqlite3_io_methods::xRead, void*, int, sqlite3_int64>,
    .xWrite = Write,
    .xTruncate = Forward<&sqlite3_io_methods::xTruncate, sqlite3_int64>,
    .xSync = Sync,
    .xFileSize = Forward<&sqlite3_io_methods::xFileSize, sqlite3_int64*>,
    .xLock = Forward<&sqlite3_io_methods::xLock, int>,
    .xUnlock = Forward<&sqlite3_io_methods::xUnlock, int>,
    .xCheckReservedLock = Forward<&sqlite3_io_methods::xCheckReservedLock, int*>,
    .xFileControl = Forward<&sqlite3_io_methods::xFileControl, int, void*>,
    .xSectorSize = Forward<&sqlite3_io_methods::xSectorSize>,
    .xDeviceCharacteristics = Forward<&sqlite3_io_methods::xDeviceCharacteristics>,
    .xShmMap = Forward<&sqlite3_io_methods::xShmMap, int, int, int, void volatile**>,
    .xShmLock = Forward<&sqlite3_io_methods::xShmLock, int, int, int>,
    .xShmBarrier = Barrier,
    .xShmUnmap = Forward<&sqlite3_io_methods::xShmUnmap, int>,
    .xFetch = nullptr,
    .xUnfetch = nullptr,
};

int Open(sqlite3_vfs*, const char* name, sqlite3_file* file, int flags, int* flags_out) {
  Of(file).base.pMethods = nullptr;
  Of(file).path = nullptr;
  const int code = real->xOpen(real, name, Of(file).real(), flags, flags_out);
  if (code != SQLITE_OK) return code;
  Of(file).base.pMethods = &kMethods;
  if (name == nullptr) return code;
  Of(file).path = new std::string(name);
  disk->Opened(name);
  return code;
}

int Delete(sqlite3_vfs*, const char* name, int sync_folder) {
  disk->Deleted(name);
  return real->xDelete(real, name, sync_folder);
}

sqlite3_vfs* CrashingVfs() {
  static sqlite3_vfs vfs;
  vfs = *real;
  vfs.zName = kName;
  vfs.szOsFile = static_cast<int>(sizeof(File)) + real->szOsFile;
  vfs.xOpen = Open;
  vfs.xDelete = Delete;
  vfs.pNext = nullptr;
  return &vfs;
}

}  // namespace

CrashingDisk::CrashingDisk() {
  CHECK(disk == nullptr);
  disk = this;
  real = sqlite3_vfs_find(nullptr);
  CHECK(sqlite3_vfs_register(CrashingVfs(), 1) == SQLITE_OK);
}

CrashingDisk::~CrashingDisk() {
  sqlite3_vfs_unregister(sqlite3_vfs_find(kName));
  CHECK(sqlite3_vfs_register(real, 1) == SQLITE_OK);
  disk = nullptr;
}

void CrashingDisk::CrashInto(const std::string& from, const std::string& folder,
                             uint64_t percent_kept, std::mt19937_64& random) const {
  for (const auto& [path, kept] : files_) {
    if (!path.starts_with(from + "/")) continue;
    const std::string written = ReadFile(path);
    std::string left = kept.synced;
    for (const int64_t sector : kept.written) {
      if (random() % 100 < percent_kept) CopySector(written, sector, &left);
    }
    std::ofstream(folder + path.substr(from.size()), std::ios::binary) << left;
  }
}

void CrashingDisk::Opened(const std::string& path) {
  if (!files_.contains(path)) files_[path].synced = ReadFile(path);
}

void CrashingDisk::BeforeWrite(const std::string& path, int64_t offset, int64_t bytes) {
  if (act_) act_();
  for (int64_t sector = offset / kSector; sector * kSector < offset + bytes; ++sector)
    files_[path].written.insert(sector);
}

void CrashingDisk::BeforeSync(const std::string&) {
  if (act_) act_();
}

void CrashingDisk::Synced(const std::string& path) {
  Kept& kept = files_[path];
  const std::string written = ReadFile(path);
  for (const int64_t sector : std::exchange(kept.written, {}))
    CopySector(written, sector, &kept.synced);
  kept.synced.resize(written.size());
}

}  // namespace trainctl::store
