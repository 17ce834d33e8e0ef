#include "worker/rank/train/micro_batches.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "worker/rank/process/run_failure.h"

namespace trainctl::train {
namespace {

constexpr int64_t kBatchesAhead = 4;  // micro batches whose pictures are decoded ahead

std::optional<data::PackedRows> PackedIf(bool packing, const data::Dataset& dataset, int64_t seed) {
  if (!packing) return std::nullopt;
  return data::PackTraining(dataset, seed);
}

// Null: there are no pictures.
std::unique_ptr<images::PixelLoader> LoaderOf(const data::Dataset& dataset, int64_t side) {
  if (side == 0 || dataset.pictures.empty()) return nullptr;
  return std::make_unique<images::PixelLoader>(dataset.pictures,
                                               images::LoaderOptions{.side = side});
}

std::vector<int64_t> Numbers(int64_t count) {
  std::vector<int64_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

}  // namespace

MicroBatches::MicroBatches(const data::Dataset& dataset, const job::BatchPlan& plan, RowOrder order,
                           int64_t rank, at::Device device, int64_t picture_side)
    : dataset_(dataset),
      plan_(plan),
      row_order_(order),
      rank_(rank),
      device_(device),
      picture_side_(picture_side),
      packed_(PackedIf(order.packing, dataset, order.seed)),
      pictures_(LoaderOf(dataset, picture_side)),
      validation_pictures_(dataset.validation ? LoaderOf(*dataset.validation, picture_side)
                                              : nullptr),
      training_{dataset, pictures_.get()},
      validation_{data::ValidationOf(dataset),
                  dataset.validation ? validation_pictures_.get() : pictures_.get()} {}

std::span<const int64_t> MicroBatches::Rows(int64_t step, int64_t micro_step, int64_t rank) {
  const int64_t epoch = step / steps_per_epoch();
  if (epoch != epoch_) {
    order_ = data::EpochOrder(row_order_.seed, epoch,
                              packed_ ? Numbers(packed_->size()) : dataset_.train);
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
      const auto sequences = Rows(step, micro_step, rank);
      int64_t longest = 0;
      for (const int64_t& number : sequences) {
        const data::Sequence rows = packed_ ? (*packed_)[number] : data::Sequence(&number, 1);
        longest = std::max(longest, data::LengthOf(dataset_, rows));
        counts.trained_tokens += data::TrainedTokens(dataset_, rows);
        counts.rows += std::ssize(rows);
      }
      counts.positions += longest * std::ssize(sequences);
    }
  }
  return counts;
}

at::Tensor MicroBatches::Images(const Set& set, std::span<const int64_t> rows) const {
  if (picture_side_ == 0) return {};
  const std::vector<int64_t> shape = {std::ssize(rows), 3, picture_side_, picture_side_};
  const auto options = at::TensorOptions().dtype(at::kFloat);
  if (set.pictures == nullptr) return at::zeros(shape, options.device(device_));
  const at::Tensor host = at::empty(shape, options.pinned_memory(device_.is_cuda()));
  const std::span out(host.mutable_data_ptr<float>(), static_cast<size_t>(host.numel()));
  Take(set.pictures->TakeNormalized(rows, out), "data.path");
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

model::MicroBatch MicroBatches::OfRows(const Set& set, std::span<const int64_t> rows) const {
  model::MicroBatch batch = ToDevice(data::MakeBatch(set.rows, rows));
  batch.images = Images(set, rows);
  return batch;
}

model::MicroBatch MicroBatches::OfSequences(const Set& set, const data::PackedRows& packed,
                                            std::span<const int64_t> sequences) const {
  std::vector<data::Sequence> rows;
  for (const int64_t number : sequences) rows.push_back(packed[number]);
  const data::Batch host = data::MakePackedBatch(set.rows, rows);
  model::MicroBatch batch = ToDevice(host);
  batch.segments = ops::MakeSegments(host.segments, device_);
  batch.longest_row = 0;
  for (const data::Sequence sequence : rows) {
    for (const int64_t row : sequence)
      batch.longest_row = std::max(batch.longest_row, set.rows.rows[row].length);
  }
  return batch;
}

model::MicroBatch MicroBatches::ToDevice(const data::Batch& batch) const {
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
          .longest_row = batch.longest_row};
}

model::MicroBatch MicroBatches::Training(int64_t step, int64_t micro_step) {
  LookAhead(step, micro_step);
  const auto rows = Rows(step, micro_step, rank_);
  model::MicroBatch batch =
      packed_ ? OfSequences(training_, *packed_, rows) : OfRows(training_, rows);
  const int64_t first = step * plan_.global + (micro_step * plan_.devices + rank_) * plan_.micro;
  batch.samples =
      at::arange(first, first + plan_.micro, at::TensorOptions().device(device_).dtype(at::kLong));
  return batch;
}

std::span<const int64_t> MicroBatches::ValidationRows(int64_t max_rows) const {
  return std::span(dataset_.val).first(std::min(max_rows, std::ssize(dataset_.val)));
}

const data::PackedRows& MicroBatches::PackedValidation(int64_t max_rows) {
  const auto rows = ValidationRows(max_rows);
  if (!packed_validation_ || packed_validation_rows_ != std::ssize(rows))
    packed_validation_ = data::Pack(validation_.rows, rows);
  packed_validation_rows_ = std::ssize(rows);
  return *packed_validation_;
}

int64_t MicroBatches::ValidationBatches(int64_t max_rows) {
  const int64_t sequences =
      packed_ ? PackedValidation(max_rows).size() : std::ssize(ValidationRows(max_rows));
  return (sequences + plan_.micro - 1) / plan_.micro;
}

model::MicroBatch MicroBatches::Validation(int64_t index, int64_t max_rows) {
  const int64_t first = index * plan_.micro;
  if (packed_) {
    const data::PackedRows& packed = PackedValidation(max_rows);
    const std::vector<int64_t> numbers = Numbers(std::min(packed.size(), first + plan_.micro));
    return OfSequences(validation_, packed, std::span(numbers).subspan(first));
  }
  const auto all = ValidationRows(max_rows);
  const auto rows = all.subspan(first, std::min(plan_.micro, std::ssize(all) - first));
  if (validation_.pictures != nullptr) validation_.pictures->Ahead(rows);
  return OfRows(validation_, rows);
}

int64_t MicroBatches::ValidationTokens(int64_t max_rows) const {
  return data::TrainedTokens(validation_.rows, ValidationRows(max_rows));
}

}  // namespace trainctl::train
