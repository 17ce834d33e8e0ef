// A copy of the database as it was at one moment, made while a coordinator goes on writing it; and
// the database of a site that begins with such a copy.
//
//   whole      a copy is written beside its place, read again, fsynced and renamed: what has the
//              name is complete. A kill leaves FILE.partial, which the next one replaces.
//   nothing    is ever replaced: neither a file of the copy's name, nor a database.
//   checked    SQLite's integrity check reads what is copied, and the copy; the copy is read as by
//              a coordinator at its start, too.
//
// Thread-safe: each call has a connection of its own, which never writes the database.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "common/base/clock.h"
#include "common/base/result.h"
#include "server/core/rows.h"

namespace trainctl::store {

struct Backup {
  int64_t bytes = 0;
  int64_t jobs = 0;  // that are in it, those that have ended too
};

// The database of that folder, to `file`: an absolute path that ends in .db, without "." and "..".
// kInvalid: it is no such path. kConflict: there is a file already. kUnavailable: `give_up` became
// true. kNotFound: no such folder. kExhausted. kIo: also of a copy that does not hold together.
base::Result<Backup> WriteBackup(const std::string& directory, const std::string& file,
                                 const std::atomic<bool>& give_up);

struct Restoration {
  std::string file;       // the backup, also of an older version
  std::string directory;  // of the site; made where it is missing
  int64_t last_job = 0;   // the highest number that is known to have been given since
  std::string actor;      // who restores, for the audit log
  base::WallMicros now = 0;
};

struct Restored {
  int64_t jobs = 0;   // that were in the backup
  int64_t ended = 0;  // of them, that have been ended (core::EndUnfinished)
  core::JobGap gap;   // numbers that this site does not give: its next is the one behind
};

// Makes the folder's database of a backup. What comes is numbered far beyond what the backup has,
// since others were given numbers after it. Nor does it get a number of an earlier site of the same
// backup. kConflict: a coordinator has the folder, or it has a
// database. kInvalid: a network file system, or a file of a newer version. kNotFound, kExhausted,
// kIo.
base::Result<Restored> RestoreBackup(const Restoration& wish);

}  // namespace trainctl::store
