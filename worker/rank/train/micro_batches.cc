#include "worker/rank/train/micro_batches.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <utility>

#include "worker/rank/process/run_failure.h"

namespace trainctl::train {
namespace {

constexpr int64_t kBatchesAhead = 4;  // micro batches whose pictures are decoded ahead

}  // namespace

MicroBatches::MicroBatches(const data::Dataset& dataset, const job::BatchPlan& plan, RowOrder order,
                           int64_t rank, at::Device device, int64_t picture_side)
    : dataset_(dataset),
      plan_(plan),
      row_order_(order),
      rank_(rank),
      device_(device),
      picture_side_(picture_side) {
  if (picture_side == 0 || dataset.pictures.empty()) return;
  pictures_ = std::make_unique<images::PixelLoader>(dataset.pictures,
                                                    images::LoaderOptions{.side = picture_side});
}

std::span<const int64_t> MicroBatches::Rows(int64_t step, int64_t micro_step, int64_t rank) {
  const int64_t epoch = step / steps_per_epoch();
  if (epoch != epoch_) {
    order_ = data::EpochOrder(row_order_.seed, epoch, dataset_.train);
    if (row_order_.group_by_length)
      order_ = data::GroupByLength(dataset_, std::move(order_), plan_.global);
    epoch_ = epoch;
  }
  return data::MicroBatchRows(order_, step % steps_per_epoch(), micro_step, rank, plan_);
}

StepCounts MicroBatches::Counts(int64_t step) {
  StepCounts counts;
  for (int64_t micro_step = 0; micro_step < plan_.accumulation; ++micro_step) {
    for (int64_t rank = 0; rank < plan_.devices; ++rank) {
      const auto rows = Rows(step, micro_step, rank);
      int64_t longest = 0;
      for (const int64_t row : rows) longest = std::max(longest, dataset_.rows[row].length);
      counts.trained_tokens += data::TrainedTokens(dataset_, rows);
      counts.positions += longest * static_cast<int64_t>(rows.size());
      counts.rows += static_cast<int64_t>(rows.size());
    }
  }
  return counts;
}

at::Tensor MicroBatches::Images(std::span<const int64_t> rows) const {
  if (picture_side_ == 0) return {};
  const std::vector<int64_t> shape = {std::ssize(rows), 3, picture_side_, picture_side_};
  const auto options = at::TensorOptions().dtype(at::kFloat);
  if (pictures_ == nullptr) return at::zeros(shape, options.device(device_));
  const at::Tensor host = at::empty(shape, options.pinned_memory(device_.is_cuda()));
  const std::span out(host.mutable_data_ptr<float>(), static_cast<size_t>(host.numel()));
  Take(pictures_->TakeNormalized(rows, out), "data.path");
  return host.to(device_, /*non_blocking=*/true);
}

void MicroBatches::LookAhead(int64_t step, int64_t micro_step) {
  if (pictures_ == nullptr) return;
  const int64_t of_epoch = steps_per_epoch() * plan_.accumulation;
  const int64_t now = step % steps_per_epoch() * plan_.accumulation + micro_step;
  // The first of an epoch, or of a run that goes on, asks for all up to there.
  const bool is_first = step / steps_per_epoch() != pictures_epoch_;
  pictures_epoch_ = step / steps_per_epoch();
  const int64_t end = std::min(of_epoch, now + kBatchesAhead + 1);
  for (int64_t next = is_first ? now : now + kBatchesAhead; next < end; ++next) {
    pictures_->Ahead(Rows(step / steps_per_epoch() * steps_per_epoch() + next / plan_.accumulation,
                          next % plan_.accumulation, rank_));
  }
}

model::MicroBatch MicroBatches::ToDevice(std::span<const int64_t> rows) const {
  const data::Batch batch = data::MakeBatch(dataset_, rows);
  // From pinned memory, which the allocator gives out again when the copy has read it: a copy from
  // pageable memory waits for all that the stream still has to do.
  const auto copy = [&](const std::vector<int64_t>& values) {
    const at::Tensor host =
        at::empty({static_cast<int64_t>(values.size())},
                  at::TensorOptions().dtype(at::kLong).pinned_memory(device_.is_cuda()));
    std::ranges::copy(values, host.mutable_data_ptr<int64_t>());
    return host.to(device_, /*non_blocking=*/true);
  };
  return {.rows = batch.rows,
          .length = batch.length,
          .inputs = copy(batch.inputs),
          .targets = copy(batch.targets),
          .loss_sum = {},
          .images = Images(rows)};
}

model::MicroBatch MicroBatches::Training(int64_t step, int64_t micro_step) {
  LookAhead(step, micro_step);
  model::MicroBatch batch = ToDevice(Rows(step, micro_step, rank_));
  const int64_t first = step * plan_.global + (micro_step * plan_.devices + rank_) * plan_.micro;
  batch.samples =
      at::arange(first, first + plan_.micro, at::TensorOptions().device(device_).dtype(at::kLong));
  return batch;
}

int64_t MicroBatches::ValidationBatches(int64_t max_rows) const {
  const int64_t rows = std::min<int64_t>(max_rows, static_cast<int64_t>(dataset_.val.size()));
  return (rows + plan_.micro - 1) / plan_.micro;
}

std::span<const int64_t> MicroBatches::ValidationRows(int64_t index, int64_t max_rows) const {
  const int64_t rows = std::min<int64_t>(max_rows, static_cast<int64_t>(dataset_.val.size()));
  const int64_t first = index * plan_.micro;
  return std::span(dataset_.val).subspan(first, std::min(plan_.micro, rows - first));
}

model::MicroBatch MicroBatches::Validation(int64_t index, int64_t max_rows) const {
  const auto rows = ValidationRows(index, max_rows);
  if (pictures_ != nullptr) pictures_->Ahead(rows);
  return ToDevice(rows);
}

int64_t MicroBatches::ValidationTokens(int64_t max_rows) const {
  const int64_t rows = std::min<int64_t>(max_rows, static_cast<int64_t>(dataset_.val.size()));
  return data::TrainedTokens(dataset_, std::span(dataset_.val).first(rows));
}

}  // namespace trainctl::train
