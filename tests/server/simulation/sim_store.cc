#include "tests/server/simulation/sim_store.h"

#include <utility>

namespace trainctl::core {

void Kept::Apply(const store::Batch& batch) {
  ledger.Apply(batch.rows);
  audit.insert(audit.end(), batch.audit.begin(), batch.audit.end());
  for (const store::LogsRemovedRow& row : batch.logs_removed) logs_removed[row.job] = row.at;
  for (const Persist& row : batch.rows) {
    if (const auto* removed = std::get_if<RemoveJob>(&row)) logs_removed.erase(removed->job);
  }
}

void SimStore::MayKill() const {
  constexpr uint64_t kCommitsOfOne = 400;
  if (random_() % kCommitsOfOne == 0 && may_kill) throw Killed();
}

base::Status SimStore::Apply(const store::Batch& batch) {
  MayKill();
  if (is_full) {
    is_refused_ = true;
    return base::Error{base::Code::kExhausted, "the disk is full"};
  }
  if (is_lying) {
    if (unsynced_.empty()) synced_ = kept_;
    unsynced_.push_back(batch);
  } else {
    unsynced_.clear();
  }
  kept_.Apply(batch);
  if (committed) committed(batch);
  MayKill();
  return base::Ok{};
}

base::Result<StoredState> SimStore::LoadState() {
  is_refused_ = false;
  StoredState state = ledger().LoadState();
  if (loaded) loaded(state);
  return state;
}

bool SimStore::LosePower() {
  const std::vector<store::Batch> unsynced = std::exchange(unsynced_, {});
  const size_t most = Chance(random_, 50) ? 0 : unsynced.size();
  const size_t kept = random_() % (most + 1);
  is_lying = false;
  if (kept == unsynced.size()) return false;
  kept_ = std::exchange(synced_, {});
  for (size_t i = 0; i < kept; ++i) kept_.Apply(unsynced[i]);
  return true;
}

}  // namespace trainctl::core
