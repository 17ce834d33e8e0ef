// The training data as device tensors, and what every rank can know of the whole gang's batch
// without asking: since all ranks read the same data, the count of trained tokens needs no
// all-reduce.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "common/job/batch.h"
#include "worker/rank/data/batches.h"
#include "worker/rank/images/pixel_loader.h"
#include "worker/rank/model/model.h"

namespace trainctl::train {

// Of one optimizer step, over all ranks and micro steps.
struct StepCounts {
  int64_t trained_tokens = 0;  // targets that are not ignored
  int64_t positions =
      0;  // rows × longest row of each micro batch: what tokens_per_second counts (LitGPT's)
  int64_t rows = 0;
};

// In which order an epoch takes its rows.
struct RowOrder {
  int64_t seed = 0;
  bool group_by_length = false;
};

class MicroBatches {
 public:
  // picture_side: in pixels; 0: the model takes no pictures. Where the data set has none, each is
  // zeros.
  MicroBatches(const data::Dataset& dataset, const job::BatchPlan& plan, RowOrder order,
               int64_t rank, at::Device device, int64_t picture_side = 0);

  int64_t steps_per_epoch() const {
    return static_cast<int64_t>(dataset_.train.size()) / plan_.global;
  }

  // step counts over epochs.
  StepCounts Counts(int64_t step);
  // loss_sum and grad_scale are left to the caller. Throws RunFailure of a picture that can't be
  // read, as Validation does.
  model::MicroBatch Training(int64_t step, int64_t micro_step);

  // Validation in micro batches of plan.micro rows, over the first max_rows of the validation rows.
  // Batch i belongs to rank i mod n.
  int64_t ValidationBatches(int64_t max_rows) const;
  model::MicroBatch Validation(int64_t index, int64_t max_rows) const;
  int64_t ValidationTokens(int64_t max_rows) const;
  // That of a row, [3, side, side] on the device.
  at::Tensor Picture(int64_t row) const { return Images({&row, 1})[0]; }

 private:
  std::span<const int64_t> Rows(int64_t step, int64_t micro_step, int64_t rank);
  std::span<const int64_t> ValidationRows(int64_t index, int64_t max_rows) const;
  model::MicroBatch ToDevice(std::span<const int64_t> rows) const;
  at::Tensor Images(std::span<const int64_t> rows) const;
  // Pictures of later micro batches of the epoch are asked for.
  void LookAhead(int64_t step, int64_t micro_step);

  const data::Dataset& dataset_;
  const job::BatchPlan plan_;
  const RowOrder row_order_;
  const int64_t rank_;
  const at::Device device_;
  const int64_t picture_side_;
  std::unique_ptr<images::PixelLoader> pictures_;  // none: there are no pictures
  int64_t epoch_ = -1;                             // of order_
  int64_t pictures_epoch_ = -1;                    // whose first pictures were asked for
  std::vector<int64_t> order_;                     //
};

}  // namespace trainctl::train
