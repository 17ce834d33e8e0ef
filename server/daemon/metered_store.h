// A store whose commits are timed.
#pragma once

#include <memory>
#include <utility>

#include "server/meters/meters.h"
#include "server/store/store.h"

namespace trainctl::coordinator {

class MeteredStore : public store::Store {
 public:
  // The meters outlive it.
  MeteredStore(std::unique_ptr<store::Store> store, meters::Meters& meters)
      : store_(std::move(store)), meters_(meters) {}

  base::Status Apply(const store::Batch& batch) override {
    const base::SteadyMicros began = meters_.Now();
    base::Status status = store_->Apply(batch);
    meters_.CommitEnded(status.ok(), began);
    return status;
  }
  base::Result<store::ThinningPiece> ThinPoints(const store::ThinningWish& wish) override {
    return store_->ThinPoints(wish);
  }
  base::Status CheckInPlace() override { return store_->CheckInPlace(); }
  base::Result<core::StoredState> LoadState() override { return store_->LoadState(); }

 private:
  const std::unique_ptr<store::Store> store_;
  meters::Meters& meters_;
};

}  // namespace trainctl::coordinator
