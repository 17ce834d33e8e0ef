// Brings a database to the schema of this program. Internal to this room.
#pragma once

#include <cstdint>

#include "common/base/result.h"
#include "server/store/database.h"
#include "server/store/schema.h"

namespace trainctl::store {

// kCopy: before the first step of a database that holds something, it is copied to
// "<path>.v<version>.bak". kNothing: of a database that is a copy itself.
enum class Before { kCopy, kNothing };

// Of the tables that are there; 0: none are.
int64_t SchemaVersion(Database& database);

// Each step is one transaction. kInvalid: the file is of a newer program.
// kExhausted, kIo (a version that never was, too).
base::Status Migrate(Database& database, Migrations migrations, Before before = Before::kCopy);

}  // namespace trainctl::store
