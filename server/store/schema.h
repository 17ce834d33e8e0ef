// The tables, as the migrations that lead to them. Internal to this room.
#pragma once

#include <span>

namespace trainctl::store {

// SQL that leads from version i (its index) to version i + 1. Released ones are never changed, only
// followed.
using Migrations = std::span<const char* const>;

Migrations Schema();

}  // namespace trainctl::store
