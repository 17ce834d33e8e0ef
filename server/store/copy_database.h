// A database as another file. Internal to this room.
#pragma once

#include <string>

#include "common/base/result.h"
#include "server/store/database.h"

namespace trainctl::store {

// What the connection reads now goes to a file that only its owner may read. It is on the disk when
// this returns. What a kill has left there is removed first. kNotFound: no such folder. kExhausted,
// kIo.
base::Status CopyDatabase(Database& from, const std::string& to);

// Gives a file its name, on the disk when it returns. kConflict: the name is taken. kIo.
base::Status RenameNew(const std::string& from, const std::string& to);

}  // namespace trainctl::store
