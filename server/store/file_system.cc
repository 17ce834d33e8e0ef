#include "server/store/file_system.h"

#include <sys/vfs.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "common/base/error_number.h"

namespace trainctl::store {
namespace {

struct FileSystem {
  uint64_t magic;
  std::string_view name;
};
constexpr std::array kNetworkFileSystems = {
    FileSystem{0x6969, "NFS"},        FileSystem{0x517B, "SMB"},
    FileSystem{0xFF534D42, "CIFS"},   FileSystem{0xFE534D42, "SMB2"},
    FileSystem{0x00C36400, "Ceph"},   FileSystem{0x0BD00BD0, "Lustre"},
    FileSystem{0x47504653, "GPFS"},   FileSystem{0x5346414F, "AFS"},
    FileSystem{0x19830326, "BeeGFS"}, FileSystem{0x7461636F, "OCFS2"},
    FileSystem{0x01161970, "GFS2"},   FileSystem{0x564C, "NCP"},
    FileSystem{0x73757245, "Coda"},   FileSystem{0x20030528, "OrangeFS"},
};

}  // namespace

std::optional<std::string_view> NetworkFileSystem(uint64_t magic) {
  for (const FileSystem& candidate : kNetworkFileSystems) {
    if (candidate.magic == magic) return candidate.name;
  }
  return std::nullopt;
}

base::Status PrepareFolder(const std::string& directory, Place place) {
  std::error_code error;
  // The database and the logs tell of all users' jobs. A folder that is there stays as it is.
  if (std::filesystem::create_directories(directory, error) && !error)
    std::filesystem::permissions(directory, std::filesystem::perms::owner_all, error);
  if (error)
    return base::Error{base::Code::kIo,
                       directory + ": the folder can't be made: " + error.message()};
  if (place == Place::kAnywhere) return base::Ok{};
  struct statfs info = {};
  if (statfs(directory.c_str(), &info) != 0) return base::OsError(directory, errno);
  const std::optional<std::string_view> network =
      NetworkFileSystem(static_cast<uint32_t>(info.f_type));
  if (!network) return base::Ok{};
  return base::Error{base::Code::kInvalid,
                     directory + " lies on " + std::string(*network) +
                         ", a network file system, whose locks can't be trusted with a database: " +
                         "name a folder on a local disk"};
}

}  // namespace trainctl::store
