// The training data as device tensors, and what every rank can know of the whole gang's batch
// without asking: since all ranks read the same data, the count of trained tokens needs no
// all-reduce.
#pragma once

#include <cstdint>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <string_view>
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

// In which order an epoch takes its rows, and whether they share sequences.
struct RowOrder {
  int64_t seed = 0;
  bool group_by_length = false;
  bool packing = false;
};

class MicroBatches {
 public:
  // picture_side: in pixels; 0: the model takes no pictures. Where the data set has none, each is
  // zeros.
  MicroBatches(const data::Dataset& dataset, const job::BatchPlan& plan, RowOrder order,
               int64_t rank, at::Device device, int64_t picture_side = 0);
  virtual ~MicroBatches() = default;

  // What batches are made of: training rows, or the sequences that they are packed into.
  int64_t sequences() const { return packed_ ? packed_->size() : std::ssize(dataset_.train); }
  int64_t steps_per_epoch() const { return job::StepsPerEpoch(plan_, sequences()); }

  // From now on micro batches are made before they are asked for, on a thread of their own: those
  // from first_step to before end_step. The pictures of later ones are decoded meanwhile.
  void ReadAhead(int64_t first_step, int64_t end_step);

  // step counts over epochs.
  StepCounts Counts(int64_t step);
  // loss_sum and grad_scale are left to the caller. Throws RunFailure of a picture that can't be
  // read, as Validation does.
  virtual model::MicroBatch Training(int64_t step, int64_t micro_step);

  // Validation in micro batches of plan.micro rows or packed sequences, over the first max_rows of
  // the validation rows. Batch i belongs to rank i mod n.
  int64_t ValidationBatches(int64_t max_rows);
  model::MicroBatch Validation(int64_t index, int64_t max_rows);
  int64_t ValidationTokens(int64_t max_rows) const;
  // That of a validation row, [3, side, side] on the device.
  at::Tensor Picture(int64_t row) const;

 private:
  // Training rows, or numbers of packed sequences.
  std::span<const int64_t> Rows(int64_t step, int64_t micro_step, int64_t rank);
  // The first max_rows validation rows.
  std::span<const int64_t> ValidationRows(int64_t max_rows) const;
  const data::PackedRows& PackedValidation(int64_t max_rows);
  // Rows that train, or that validate, and their pictures.
  struct Set {
    std::string_view name;  // for people
    const data::Dataset& rows;
    images::PixelLoader* pictures = nullptr;  // null: there are none
  };
  // Memory for a micro batch's pictures. That which a device copies from is pinned; other memory is
  // no tensor, so that a CPU slot does not count it.
  struct PictureBuffer {
    at::Tensor pinned;
    std::vector<float> plain;
    std::span<float> all();
  };
  // A micro batch on the host.
  struct HostBatch {
    data::Batch tokens;
    PictureBuffer pictures;  // empty: there are none
  };
  // Of rows, or of numbers of packed sequences; packed: null where they are rows. Without tensors,
  // for any thread.
  HostBatch MakeHost(const Set& set, const data::PackedRows* packed,
                     std::span<const int64_t> numbers, PictureBuffer pictures) const;
  model::MicroBatch OfRows(const Set& set, const data::PackedRows* packed,
                           std::span<const int64_t> numbers) const;
  model::MicroBatch ToDevice(HostBatch host) const;
  PictureBuffer BufferFor(const Set& set, int64_t rows) const;
  at::Tensor Images(PictureBuffer& pictures, int64_t rows) const;
  std::span<const int64_t> RowsOf(int64_t number);
  // Of the micro batch of that number over all steps: into next_, on a thread of its own.
  void Begin(int64_t number);
  // The same, if it is to be read ahead, and the pictures of those behind it.
  void BeginNext(int64_t number);
  const std::vector<int64_t>& OrderOf(int64_t epoch);

  const data::Dataset& dataset_;
  const job::BatchPlan plan_;
  const RowOrder row_order_;
  const int64_t rank_;
  const at::Device device_;
  const int64_t picture_side_;
  const std::optional<data::PackedRows> packed_;  // the training rows, where they are packed
  std::optional<data::PackedRows> packed_validation_;
  int64_t packed_validation_rows_ = 0;
  std::unique_ptr<images::PixelLoader> pictures_, validation_pictures_;
  Set training_, validation_;
  std::map<int64_t, std::vector<int64_t>> orders_;  // of epochs, from that of the last step on
  int64_t end_ = 0;              // number of the micro batch behind the last one that is read ahead
  int64_t asked_ = 0;            // and behind the last one whose pictures were asked for
  int64_t next_number_ = -1;     // of next_
  std::future<HostBatch> next_;  // last: it uses all of the above
};

}  // namespace trainctl::train
