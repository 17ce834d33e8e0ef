// The simulated coordinator's disk: rows in memory. It may be full, and may lose what it said it
// keeps. The coordinator may be killed right before a commit, or right after it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "server/store/store.h"
#include "tests/server/ledger.h"
#include "tests/server/simulation/sim_worker.h"

namespace trainctl::core {

// kill -9 of the coordinator, thrown through it: whoever drives it starts another one.
struct Killed {};

// What is stored.
struct Kept {
  Ledger ledger;
  std::vector<store::AuditRow> audit;
  std::map<base::JobId, base::WallMicros> logs_removed;

  void Apply(const store::Batch& batch);
};

class SimStore : public store::Store {
 public:
  // Told of every commit, and of every load. Both may be empty.
  std::function<void(const store::Batch&)> committed;
  std::function<void(const StoredState&)> loaded;

  explicit SimStore(Random& random) : random_(random) {}

  base::Status Apply(const store::Batch& batch) override;
  base::Result<store::ThinningPiece> ThinPoints(const store::ThinningWish&) override {
    return store::ThinningPiece();
  }
  base::Status CheckInPlace() override { return base::Ok{}; }
  base::Result<StoredState> LoadState() override;

  // Of the commits that the disk has not kept, though it said so, the first are there, or none.
  // False: it has kept them all.
  bool LosePower();

  const Kept& kept() const { return kept_; }
  const Ledger& ledger() const { return kept_.ledger; }
  // A commit was refused, and the coordinator has not loaded since: its memory is ahead.
  bool is_refused() const { return is_refused_; }

  bool is_full = false;
  bool is_lying = false;  // it says that it keeps what a loss of power undoes
  bool may_kill = true;   // the coordinator

 private:
  void MayKill() const;

  Random& random_;
  Kept kept_;
  Kept synced_;                         // where the disk said more
  std::vector<store::Batch> unsynced_;  // commits since
  bool is_refused_ = false;
};

}  // namespace trainctl::core
