// Brings a database to the schema of this program. Internal to this room.
#pragma once

#include "common/base/result.h"
#include "server/store/database.h"
#include "server/store/schema.h"

namespace trainctl::store {

// Before the first step of a database that holds something, it is copied to
// "<path>.v<version>.bak". Each step is one transaction. kInvalid: the file is of a newer program.
// kExhausted, kIo (a version that never was, too).
base::Status Migrate(Database& database, Migrations migrations);

}  // namespace trainctl::store
