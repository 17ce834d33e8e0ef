// Retention of points: of jobs that ended long ago a curve needs few. Internal to this room.
//
// A series keeps few points of each of at most 250 stretches of steps: the first, the lowest and
// the highest. The last of all stays too. So curves keep their shape, and summaries say what they
// said. Of metrics whose median is made of their points all stay.
//
// Work is done in pieces, each in a transaction of its own, of whole stretches. What a restart
// interrupts is begun anew, and comes to the same. Not thread-safe.
#pragma once

#include <deque>
#include <optional>

#include "server/store/database.h"
#include "server/store/store.h"

namespace trainctl::store {

class PointThinner {
 public:
  explicit PointThinner(Database& database) : database_(database) {}

  // The next piece. Errors as Store's; nothing of the piece is stored then.
  base::Result<ThinningPiece> Next(const ThinningWish& wish);
  // Begins anew: what it remembers is not in the store after all.
  void Forget();

 private:
  struct Series {
    int64_t id = 0;
    int64_t latest_step = 0;
    int64_t from = 0;  // the next step to look at
  };
  struct Job {
    base::JobId id;
    std::deque<Series> left;
    bool lost_points = false;  // and that was said
  };

  bool FindJobs(const ThinningWish& wish);
  bool Exists(base::JobId job);
  void Begin();  // the first that is due
  // Of the first series about so many points, at least a stretch. How many were looked at.
  int64_t ThinPiece(int64_t most, const ThinningWish& wish, ThinningPiece& piece);
  bool SayThinned(const ThinningWish& wish);  // in the job's history; false: it says so already
  void End(const ThinningWish& wish);

  Database& database_;
  int64_t last_looked_at_ = 0;   // a job's number
  std::deque<base::JobId> due_;  // found, and not begun
  std::optional<Job> job_;       // the one that is being thinned
};

}  // namespace trainctl::store
