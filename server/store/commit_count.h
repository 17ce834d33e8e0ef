// How many commits a database has had, kept twice: in the database, with each of them, and beside
// it in FILE-commits, after each. Internal to this room.
//
// SQLite takes a database without its log for whole, as it was when the log was last copied into
// it. The file beside it tells. It is not synced: a loss of power leaves an older number there, and
// never a later one. So a database that has had fewer lacks some.
#pragma once

#include <cstdint>
#include <string>

#include "common/base/descriptor.h"
#include "common/base/result.h"
#include "server/store/database.h"

namespace trainctl::store {

std::string CommitsPath(const std::string& database_path);

class CommitCount {
 public:
  // Makes the file where it is missing, for its owner only. kIo.
  static base::Result<CommitCount> Open(Database& database);

  // Commits that the database lacks.
  int64_t missing() const { return missing_; }

  // Within the transaction.
  void Count(Database& database) const;
  // It is on the disk.
  void Committed();

 private:
  base::Descriptor file_;
  int64_t number_ = 0;
  int64_t missing_ = 0;
};

}  // namespace trainctl::store
