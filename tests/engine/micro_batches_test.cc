#include "worker/rank/train/micro_batches.h"

#include <ATen/ops/equal.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/base/descriptor.h"
#include "tests/checkout.h"
#include "tests/files/scratch_directory.h"
#include "worker/rank/process/run_failure.h"

namespace trainctl::train {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRows = 9, kSide = 14;
constexpr job::BatchPlan kPlan{.micro = 2, .devices = 1, .accumulation = 2, .global = 4};
const std::vector<std::string> kPictures = {"rgb.png", "gray.jpg", "rgba.png", "cmyk.jpg"};

// Rows of other lengths, each with a picture.
data::Dataset RowsWith(const std::vector<std::string>& paths) {
  data::Dataset dataset;
  data::PictureListSpool pictures;
  std::vector<int32_t> tokens;
  for (int64_t row = 0; row < kRows; ++row) {
    dataset.rows.push_back({std::ssize(tokens), 3 + row, 0});
    dataset.train.push_back(row);
    for (int64_t t = 0; t < 3 + row; ++t) tokens.push_back(static_cast<int32_t>(t + row));
    const auto place = static_cast<size_t>(row) % paths.size();
    EXPECT_TRUE(pictures.Append({.path = paths[place]}).ok());
  }
  dataset.tokens = data::TokenStore(std::move(tokens));
  dataset.pictures = pictures.Take().value();
  dataset.max_seq_length = 32;
  return dataset;
}

std::vector<std::string> SamplePaths() {
  std::vector<std::string> paths;
  for (const std::string& name : kPictures)
    paths.push_back(checkout::File("tests/baselines/images/" + name));
  return paths;
}

MicroBatches BatchesOf(const data::Dataset& dataset) {
  return {dataset, kPlan, {.seed = 3}, /*rank=*/0, at::kCPU, kSide};
}

void ExpectEqual(const model::MicroBatch& a, const model::MicroBatch& b) {
  EXPECT_TRUE(at::equal(a.inputs, b.inputs));
  EXPECT_TRUE(at::equal(a.targets, b.targets));
  EXPECT_TRUE(at::equal(a.samples, b.samples));
  EXPECT_TRUE(at::equal(a.images, b.images));
}

TEST(MicroBatches, ThoseReadAheadAreThoseMadeWhenAskedForOverEpochsToo) {
  const data::Dataset dataset = RowsWith(SamplePaths());
  MicroBatches ahead = BatchesOf(dataset), at_once = BatchesOf(dataset);
  const int64_t end = 3 * ahead.steps_per_epoch();
  ahead.ReadAhead(1, end);
  for (int64_t step = 1; step < end; ++step) {
    for (int64_t micro_step = 0; micro_step < kPlan.accumulation; ++micro_step)
      ExpectEqual(ahead.Training(step, micro_step), at_once.Training(step, micro_step));
    EXPECT_EQ(ahead.Counts(step).positions, at_once.Counts(step).positions);
  }
}

// As where the checkpoint proves to be damaged that the run was to go on from.
TEST(MicroBatches, ARunMayBeginBeforeWhatIsReadAhead) {
  const data::Dataset dataset = RowsWith(SamplePaths());
  MicroBatches ahead = BatchesOf(dataset), at_once = BatchesOf(dataset);
  ahead.ReadAhead(3, 6);
  for (int64_t step = 1; step < 6; ++step)
    ExpectEqual(ahead.Training(step, 0), at_once.Training(step, 0));
}

// Waits until so many files of a folder were read and closed.
class Reads {
 public:
  explicit Reads(const std::string& folder) : fd_(inotify_init1(IN_CLOEXEC)) {
    EXPECT_GE(inotify_add_watch(fd_.get(), folder.c_str(), IN_CLOSE_NOWRITE), 0);
  }
  void Await(size_t files) {
    alignas(inotify_event) std::array<char, 4096> events;
    std::set<std::string> names;
    while (names.size() < files) {
      const ssize_t bytes = ::read(fd_.get(), events.data(), events.size());
      ASSERT_GT(bytes, 0);
      for (ssize_t at = 0; at < bytes;) {
        const auto* event = reinterpret_cast<const inotify_event*>(events.data() + at);
        if (event->len > 0) names.insert(event->name);
        at += static_cast<ssize_t>(sizeof *event + event->len);
      }
    }
  }

 private:
  const base::Descriptor fd_;
};

TEST(MicroBatches, PicturesAreReadBeforeTheFirstIsAskedFor) {
  const ScratchDirectory folder;
  std::vector<std::string> paths;
  for (int64_t row = 0; row < kRows; ++row) {
    paths.push_back(folder.path() + "/" + std::to_string(row) + ".png");
    fs::copy_file(SamplePaths()[0], paths.back());
  }
  const data::Dataset dataset = RowsWith(paths);
  MicroBatches ahead = BatchesOf(dataset);
  Reads reads(folder.path());
  ahead.ReadAhead(0, 2);
  reads.Await(2 * kPlan.global);
  for (const std::string& path : paths) fs::remove(path);
  for (int64_t step = 0; step < 2; ++step) {
    for (int64_t micro_step = 0; micro_step < kPlan.accumulation; ++micro_step)
      EXPECT_GT(ahead.Training(step, micro_step).images.numel(), 0);
  }
}

TEST(MicroBatches, APictureThatCantBeReadIsToldWhenItsMicroBatchIsAskedFor) {
  const ScratchDirectory folder;
  std::vector<std::string> paths;
  for (int64_t row = 0; row < kRows; ++row) paths.push_back(SamplePaths()[0]);
  const data::Dataset whole = RowsWith(paths);
  const std::vector<int64_t> order = data::EpochOrder(3, 0, whole.train);
  const int64_t broken = order[5];  // of the second step's first micro batch
  paths[static_cast<size_t>(broken)] = folder.Write("broken.png", "no picture");
  const data::Dataset dataset = RowsWith(paths);
  MicroBatches ahead = BatchesOf(dataset);
  ahead.ReadAhead(0, 2);
  ahead.Training(0, 0);
  ahead.Training(0, 1);
  try {
    ahead.Training(1, 0);
    FAIL() << "it was read";
  } catch (const RunFailure& failure) {
    EXPECT_THAT(failure.message, testing::HasSubstr("row " + std::to_string(broken) + ": "));
  }
}

}  // namespace
}  // namespace trainctl::train
