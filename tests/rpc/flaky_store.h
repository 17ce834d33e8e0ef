// A store whose disk can be full.
#pragma once

#include <cstdint>
#include <iterator>

#include "server/store/store.h"

namespace trainctl::coordinator {

class FlakyStore : public store::Store {
 public:
  explicit FlakyStore(store::Store& inner) : inner_(inner) {}
  base::Status Apply(const store::Batch& batch) override {
    ++commits;
    marks += std::ssize(batch.logs_removed);
    if (is_full) return base::Error{base::Code::kExhausted, "the disk is full"};
    return inner_.Apply(batch);
  }
  base::Result<store::ThinningPiece> ThinPoints(const store::ThinningWish& wish) override {
    if (is_full) return base::Error{base::Code::kExhausted, "the disk is full"};
    return inner_.ThinPoints(wish);
  }
  base::Status CheckInPlace() override { return inner_.CheckInPlace(); }
  base::Result<core::StoredState> LoadState() override { return inner_.LoadState(); }

  bool is_full = false;
  int commits = 0;
  int64_t marks = 0;  // of logs, stored or not

 private:
  store::Store& inner_;
};

}  // namespace trainctl::coordinator
