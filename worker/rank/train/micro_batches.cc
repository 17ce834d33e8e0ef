#include "worker/rank/train/micro_batches.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "worker/rank/data/broken_pictures.h"
#include "worker/rank/data/row_pipeline.h"
#include "worker/rank/process/run_failure.h"

namespace trainctl::train {
namespace {

constexpr std::string_view kTrainingData = "data.path",
                           kValidationData = "data.val_path or data.val_split";
constexpr int64_t kBatchesAhead = 4;  // micro batches whose pictures are decoded ahead

std::optional<data::PackedRows> PackedIf(bool packing, const data::Dataset& dataset, int64_t seed) {
  if (!packing) return std::nullopt;
  return data::PackTraining(dataset, seed);
}

// Null: there are no pictures.
std::unique_ptr<images::PixelLoader> LoaderOf(const data::Dataset& dataset, int64_t micro_batch,
                                              int64_t side) {
  if (side == 0 || dataset.pictures.empty()) return nullptr;
  images::LoaderOptions options{.side = side, .threads = std::max(2, data::TokenizingThreads())};
  options.most_ahead = std::max(options.most_ahead, micro_batch * (kBatchesAhead + 1));
  return std::make_unique<images::PixelLoader>(
      [&pictures = dataset.pictures](int64_t row) { return pictures[row]; }, options);
}

// Throws RunFailure, which begins with the name of the set.
void TakePictures(std::string_view name, images::PixelLoader& loader, std::span<const int64_t> rows,
                  std::span<float> pictures) {
  const base::Status taken = loader.TakeNormalized(rows, pictures);
  if (taken) return;
  const bool can_be_left_out = taken.error().code == base::Code::kInvalid;
  throw RunFailure{std::string(name) + ": " + taken.error().message +
                   std::string(can_be_left_out ? data::kSkipHint : "")};
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
      pictures_(LoaderOf(dataset, plan.micro, picture_side)),
      validation_pictures_(
          dataset.validation ? LoaderOf(*dataset.validation, plan.micro, picture_side) : nullptr),
      training_{kTrainingData, dataset, pictures_.get()},
      validation_{dataset.validation ? kValidationData : kTrainingData, data::ValidationOf(dataset),
                  dataset.validation ? validation_pictures_.get() : pictures_.get()} {}

const std::vector<int64_t>& MicroBatches::OrderOf(int64_t epoch) {
  if (const auto known = orders_.find(epoch); known != orders_.end()) return known->second;
  std::vector<int64_t> order =
      data::EpochOrder(row_order_.seed, epoch, packed_ ? Numbers(packed_->size()) : dataset_.train);
  if (row_order_.group_by_length)
    order = data::GroupByLength(dataset_, std::move(order), plan_.global);
  return orders_.emplace(epoch, std::move(order)).first->second;
}

std::span<const int64_t> MicroBatches::Rows(int64_t step, int64_t micro_step, int64_t rank) {
  return data::MicroBatchRows(OrderOf(step / steps_per_epoch()), step % steps_per_epoch(),
                              micro_step, rank, plan_);
}

std::span<const int64_t> MicroBatches::RowsOf(int64_t number) {
  return Rows(number / plan_.accumulation, number % plan_.accumulation, rank_);
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

std::span<float> MicroBatches::PictureBuffer::all() {
  if (!pinned.defined()) return plain;
  return {pinned.mutable_data_ptr<float>(), static_cast<size_t>(pinned.numel())};
}

MicroBatches::PictureBuffer MicroBatches::BufferFor(const Set& set, int64_t rows) const {
  if (set.pictures == nullptr) return {};
  const int64_t numbers = rows * images::PixelBytes(picture_side_);
  if (!device_.is_cuda()) return {{}, std::vector<float>(static_cast<size_t>(numbers))};
  return {at::empty({numbers}, at::TensorOptions().dtype(at::kFloat).pinned_memory(true)), {}};
}

at::Tensor MicroBatches::Images(PictureBuffer& pictures, int64_t rows) const {
  if (picture_side_ == 0) return {};
  const std::vector<int64_t> shape = {rows, 3, picture_side_, picture_side_};
  const auto options = at::TensorOptions().dtype(at::kFloat).device(device_);
  const std::span<const float> all = pictures.all();
  if (all.empty()) return at::zeros(shape, options);
  if (pictures.pinned.defined())
    return pictures.pinned.view(shape).to(device_, /*non_blocking=*/true);
  const at::Tensor images = at::empty(shape, options);
  std::ranges::copy(all, images.mutable_data_ptr<float>());
  return images;
}

MicroBatches::HostBatch MicroBatches::MakeHost(const Set& set, const data::PackedRows* packed,
                                               std::span<const int64_t> numbers,
                                               PictureBuffer pictures) const {
  if (packed == nullptr) {
    HostBatch host{data::MakeBatch(set.rows, numbers), std::move(pictures)};
    if (set.pictures != nullptr)
      TakePictures(set.name, *set.pictures, numbers, host.pictures.all());
    return host;
  }
  std::vector<data::Sequence> rows;
  for (const int64_t number : numbers) rows.push_back((*packed)[number]);
  HostBatch host{data::MakePackedBatch(set.rows, rows), {}};
  host.tokens.longest_row = 0;
  for (const data::Sequence sequence : rows) {
    for (const int64_t row : sequence)
      host.tokens.longest_row = std::max(host.tokens.longest_row, set.rows.rows[row].length);
  }
  return host;
}

model::MicroBatch MicroBatches::OfRows(const Set& set, const data::PackedRows* packed,
                                       std::span<const int64_t> numbers) const {
  return ToDevice(MakeHost(set, packed, numbers, BufferFor(set, std::ssize(numbers))));
}

model::MicroBatch MicroBatches::ToDevice(HostBatch host) const {
  const data::Batch& batch = host.tokens;
  // From pinned memory, which the allocator gives out again when the copy has read it: a copy from
  // pageable memory waits for all that the stream still has to do.
  const auto copy = [&](const std::vector<int64_t>& values) {
    const at::Tensor pinned =
        at::empty({static_cast<int64_t>(values.size())},
                  at::TensorOptions().dtype(at::kLong).pinned_memory(device_.is_cuda()));
    std::ranges::copy(values, pinned.mutable_data_ptr<int64_t>());
    return pinned.to(device_, /*non_blocking=*/true);
  };
  model::MicroBatch made{.rows = batch.rows,
                         .length = batch.length,
                         .inputs = copy(batch.inputs),
                         .targets = copy(batch.targets),
                         .loss_sum = {},
                         .images = Images(host.pictures, batch.rows),
                         .longest_row = batch.longest_row};
  if (!batch.segments.empty()) made.segments = ops::MakeSegments(batch.segments, device_);
  return made;
}

void MicroBatches::ReadAhead(int64_t first_step, int64_t end_step) {
  end_ = end_step * plan_.accumulation;
  // Memory that a device copies from takes its time the first time; so many are in use at once.
  std::vector<PictureBuffer> buffers(device_.is_cuda() ? 3 : 0);
  for (PictureBuffer& buffer : buffers) buffer = BufferFor(training_, plan_.micro);
  buffers.clear();
  BeginNext(first_step * plan_.accumulation);
}

void MicroBatches::BeginNext(int64_t number) {
  if (number >= end_) return;
  const int64_t end = std::min(end_, number + kBatchesAhead + 1);
  for (asked_ = std::max(asked_, number); pictures_ != nullptr && asked_ < end; ++asked_)
    pictures_->Ahead(RowsOf(asked_));
  Begin(number);
}

void MicroBatches::Begin(int64_t number) {
  const auto numbers = RowsOf(number);
  next_number_ = number;
  next_ = std::async(
      std::launch::async, [this, numbers = std::vector(numbers.begin(), numbers.end()),
                           pictures = BufferFor(training_, std::ssize(numbers))]() mutable {
        return MakeHost(training_, packed_ ? &*packed_ : nullptr, numbers, std::move(pictures));
      });
}

model::MicroBatch MicroBatches::Training(int64_t step, int64_t micro_step) {
  orders_.erase(orders_.begin(), orders_.lower_bound(step / steps_per_epoch()));
  const int64_t number = step * plan_.accumulation + micro_step;
  // Another is the next one where a damaged checkpoint was set aside.
  if (!next_.valid() || next_number_ != number) Begin(number);
  HostBatch host = next_.get();
  BeginNext(number + 1);
  model::MicroBatch batch = ToDevice(std::move(host));
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
    return OfRows(validation_, &packed, std::span(numbers).subspan(first));
  }
  const auto all = ValidationRows(max_rows);
  const auto rows = all.subspan(first, std::min(plan_.micro, std::ssize(all) - first));
  if (validation_.pictures != nullptr) validation_.pictures->Ahead(rows);
  return OfRows(validation_, nullptr, rows);
}

at::Tensor MicroBatches::Picture(int64_t row) const {
  PictureBuffer buffer = BufferFor(validation_, 1);
  if (validation_.pictures != nullptr)
    TakePictures(validation_.name, *validation_.pictures, {&row, 1}, buffer.all());
  return Images(buffer, 1)[0];
}

int64_t MicroBatches::ValidationTokens(int64_t max_rows) const {
  return data::TrainedTokens(validation_.rows, ValidationRows(max_rows));
}

}  // namespace trainctl::train
