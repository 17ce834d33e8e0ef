// What the coordinator remembers across restarts. One Store writes; Readers (reader.h) read beside
// it.
//
// Errors of every method: kExhausted (disk full), kIo (read-only, damaged, any other refusal of the
// disk); the message names the file, what the disk said and what to do. After an error nothing of
// the batch is stored.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/result.h"
#include "common/rank/rank_key.h"
#include "server/core/actions.h"
#include "server/core/restore.h"

namespace trainctl::store {

inline constexpr std::string_view kRemovesJob = "rm";  // an audit's action; its subject is the job

// Append-only: who did what.
struct AuditRow {
  base::WallMicros at = 0;
  std::string actor;
  std::string action;   // "submit", "cancel", …: auth::Permission::change
  std::string subject;  // "j12", "g3", "host/0"
  std::string address;  // where the call came from; empty: not recorded, of older coordinators
  std::string verdict = "accepted";  // or why it was refused
  int64_t id = 0;                    // as it was stored: later ones are larger
};

// Nothing is to be kept any more of what the ranks of a FINISHED job wrote: stored before the files
// go.
struct LogsRemovedRow {
  base::JobId job;
  base::WallMicros at = 0;
  bool any = false;  // there was something: its history says so then
};

// Rows that become durable together or not at all.
struct Batch {
  std::vector<core::Persist> rows;
  std::vector<AuditRow> audit;
  std::vector<LogsRemovedRow> logs_removed = {};

  bool empty() const { return rows.empty() && audit.empty() && logs_removed.empty(); }
};

// Jobs that ended before then are to have fewer points; `now` is the time of that.
struct ThinningWish {
  base::WallMicros ended_before = 0;
  base::WallMicros now = 0;
};
struct ThinningPiece {
  bool more = false;                 // there may be more to do
  std::vector<base::JobId> thinned;  // those that lost points for the first time
};

// Not thread-safe: belongs to the coordinator's loop, or to one writing thread.
class Store {
 public:
  virtual ~Store() = default;

  // Durable when it returns.
  virtual base::Status Apply(const Batch& batch) = 0;

  // Does a piece of what point_thinner.h says, in some milliseconds. Each job is thinned once.
  virtual base::Result<ThinningPiece> ThinPoints(const ThinningWish& wish) = 0;

  // Whether what is stored lies where the next start looks for it. kIo: it was moved away, or
  // replaced; Apply refuses then, too.
  virtual base::Status CheckInPlace() = 0;

  // What core::Restore wants.
  virtual base::Result<core::StoredState> LoadState() = 0;
};

}  // namespace trainctl::store
