#include "server/store/migrate.h"

#include <cstdint>
#include <filesystem>
#include <string>

#include "server/store/copy_database.h"

namespace trainctl::store {
namespace {

constexpr int64_t kHighestVersion = 10'000;  // no program ever gets there

// Whole or not at all: a backup under its name is complete.
base::Status KeepCopy(Database& database, int64_t version) {
  const std::string target = database.path() + ".v" + std::to_string(version) + ".bak";
  const std::string partial = target + ".tmp";
  const base::Status copied = CopyDatabase(database, partial);
  if (!copied.ok())
    return base::Error{copied.error().code,
                       "no backup before the upgrade: " + copied.error().message};
  std::error_code error;
  std::filesystem::rename(partial, target, error);
  if (error) return base::Error{base::Code::kIo, target + ": " + error.message()};
  return base::Ok{};
}

base::Status Upgrade(Database& database, const char* migration, int64_t version) {
  Transaction transaction(database);
  database.Execute(migration);
  database.Execute("PRAGMA user_version = " + std::to_string(version));
  return transaction.Commit();
}

}  // namespace

int64_t SchemaVersion(Database& database) {
  Statement statement(database, "PRAGMA user_version");
  int64_t version = 0;
  while (statement.Next()) statement.Get(version);
  return version;
}

base::Status Migrate(Database& database, Migrations migrations, Before before) {
  const int64_t version = SchemaVersion(database);
  const auto target = static_cast<int64_t>(migrations.size());
  if (base::Status status = database.TakeStatus(); !status.ok()) return status;
  if (version < 0 || version > kHighestVersion) {
    return base::Error{base::Code::kIo,
                       Damaged(database.path() + ": schema version " + std::to_string(version))};
  }
  if (version > target) {
    return base::Error{base::Code::kInvalid, database.path() +
                                                 " was written by a newer coordinator (schema " +
                                                 std::to_string(version) + ", this one knows " +
                                                 std::to_string(target) + "): run that one"};
  }
  if (version > 0 && version < target && before == Before::kCopy) {
    if (base::Status status = KeepCopy(database, version); !status.ok()) return status;
  }
  for (int64_t next = version; next < target; ++next) {
    if (base::Status status = Upgrade(database, migrations[next], next + 1); !status.ok())
      return status;
  }
  return base::Ok{};
}

}  // namespace trainctl::store
