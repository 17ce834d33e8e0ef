// What a restart needs, read by the writing connection. Internal to this room.
#pragma once

#include "server/core/restore.h"
#include "server/store/database.h"

namespace trainctl::store {

// Errors stick to the database.
core::StoredState LoadState(Database& database);

}  // namespace trainctl::store
