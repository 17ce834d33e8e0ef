// Whether a folder may hold the database. Internal to this room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/base/result.h"
#include "server/store/sqlite_store.h"

namespace trainctl::store {

// The name of the network file system with that magic number of statfs(2); nullopt: local, or not
// known to be one.
std::optional<std::string_view> NetworkFileSystem(uint64_t magic);

// Makes the folder where it is missing. kInvalid: it lies on a network file system, and may not.
// kIo.
base::Status PrepareFolder(const std::string& directory, Place place);

}  // namespace trainctl::store
