// Store and Reader in one SQLite file (schema: schema.h).
//
//   durability  WAL, synchronous=FULL: Apply returns after the fsync. mmap_size=0.
//   one writer  exactly one connection writes and checkpoints: SQLite before 3.51.3 can corrupt a
//               WAL database otherwise. The folder and the file are locked against a second
//               coordinator, and Readers' connections are read-only.
//   place       a local disk: a network file system is refused, since neither its locks nor its
//               shared memory can be trusted.
//   upgrades    PRAGMA user_version; before a migration the file is copied beside itself
//               (coordinator.db.v1.bak). A file of a newer version is refused.
#pragma once

#include <memory>
#include <string>

#include "common/base/result.h"
#include "server/store/reader.h"
#include "server/store/store.h"

namespace trainctl::store {

std::string DatabasePath(const std::string& directory);  // <directory>/coordinator.db

// ", or …": what else helps where the database is lost, for people.
std::string HowToRestore(const std::string& directory);

// Where the folder may lie. kAnywhere is for a site that moves from host to host: its file system
// must keep locks, and one host at a time has the folder.
enum class Place { kLocal, kAnywhere };

// kGoesOn: it has had jobs, so that a database without tables has lost them.
enum class Site { kMayBeNew, kGoesOn };

// The database, made where it is missing (the folder too). kConflict: another coordinator has it,
// with its pid, or it has lost its tables, or commits. kInvalid: a network file system, or a file
// of a newer version. kExhausted, kIo as Store (a damaged file, too).
base::Result<std::unique_ptr<Store>> OpenSqliteStore(const std::string& directory,
                                                     Place place = Place::kLocal,
                                                     Site site = Site::kMayBeNew);

// The store must be open, here or in another process. kNotFound, kIo.
base::Result<std::unique_ptr<Reader>> OpenSqliteReader(const std::string& directory);

}  // namespace trainctl::store
