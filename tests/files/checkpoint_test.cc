// Checkpoints: what is written is read, by any range; what is not whole is never taken; what is
// damaged is named.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <functional>
#include <numeric>

#include "common/base/file.h"
#include "tests/files/mutate.h"
#include "tests/files/scratch_directory.h"
#include "worker/rank/files/checkpoint_folder.h"
#include "worker/rank/files/checkpoint_reader.h"
#include "worker/rank/files/checkpoint_writer.h"

namespace trainctl::files {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kTotal = 10;
const KeepWaiting kNever = [] { return false; };

// Value i of tensor "w", kind "master", is i + 100 · step.
std::vector<float> Values(int64_t step, int64_t begin, int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  std::iota(values.begin(), values.end(), static_cast<float>(begin + 100 * step));
  return values;
}

CheckpointSlice Slice(const std::string& kind, int64_t begin, int64_t count) {
  return {.tensor = "w",
          .kind = kind,
          .dtype = DType::kF32,
          .begin = begin,
          .count = count,
          .total = kTotal};
}

class CheckpointTest : public ::testing::Test {
 protected:
  std::string directory() const { return scratch_.path() + "/checkpoints"; }
  CheckpointPlace Place(int64_t step) const {
    return {.directory = directory(), .step = step, .tag = "j1.1"};
  }

  void WritePart(int64_t step, int64_t rank, int64_t world_size,
                 std::vector<CheckpointSlice> slices) const {
    auto part = CheckpointPart::Create({Place(step), rank, world_size, slices});
    ASSERT_TRUE(part.ok()) << part.error().message;
    for (const CheckpointSlice& slice : slices) {
      const std::vector<float> values = Values(step, slice.begin, slice.count);
      ASSERT_TRUE(part->Append(std::as_bytes(std::span(values)).first(3)).ok());
      ASSERT_TRUE(part->Append(std::as_bytes(std::span(values)).subspan(3)).ok());
    }
    const auto finished = part->Finish();
    ASSERT_TRUE(finished.ok()) << finished.error().message;
  }

  void Rotate(const KeptCheckpoints& kept, const std::vector<std::string>& runs) const {
    for (const std::string& path : SurplusCheckpoints(directory(), kept, runs))
      ASSERT_TRUE(RemoveCheckpoint(path).ok());
  }

  CheckpointManifest Manifest(int64_t step, int64_t world_size) const {
    CheckpointManifest manifest{.step = step,
                                .total_steps = 50,
                                .written_at = ++written_,
                                .world_size = world_size,
                                .runs = {"j1"},
                                .data_digest = "d"};
    manifest.job.name = "tiny";
    manifest.job.model.path = "/model";
    manifest.job.data.path = "/data";
    manifest.job.train.micro_batch_size = 1;
    return manifest;
  }

  // Two ranks: [0, 6) and [6, 10) of the master, and the moments whole on rank 1.
  void WriteParts(int64_t step) const {
    WritePart(step, 0, 2, {Slice("master", 0, 6)});
    WritePart(step, 1, 2, {Slice("exp_avg", 0, kTotal), Slice("master", 6, 4)});
  }

  void Write(int64_t step, std::optional<double> val_loss = std::nullopt,
             const std::string& run = "j1") const {
    WriteParts(step);
    CheckpointManifest manifest = Manifest(step, 2);
    manifest.val_loss = val_loss;
    manifest.runs = {run};
    const auto completed = CompleteCheckpoint(Place(step), manifest, kNever);
    ASSERT_TRUE(completed.ok()) << completed.error().message;
  }

  std::vector<int64_t> Steps() const {
    std::vector<int64_t> steps;
    for (const FoundCheckpoint& found : ListCheckpoints(directory()))
      steps.push_back(found.manifest.step);
    return steps;
  }

  base::Result<CheckpointState> Open(int64_t step) const {
    auto found = FindCheckpoint(Place(step).path());
    if (!found) return found.error();
    return CheckpointState::Open(std::move(*found));
  }

  // The values of a range, in order.
  static std::vector<float> Read(CheckpointState& state, const std::string& kind, int64_t begin,
                                 int64_t count) {
    auto pieces =
        state.Read({.tensor = "w", .kind = kind, .begin = begin, .count = count, .total = kTotal});
    EXPECT_TRUE(pieces.ok());
    std::vector<float> values;
    for (const StatePiece& piece : pieces.value()) {
      const size_t at = values.size();
      values.resize(at + static_cast<size_t>(piece.count));
      std::memcpy(values.data() + at, piece.bytes.data(), piece.bytes.size());
    }
    return values;
  }

  // Rewrites the manifest of a checkpoint.
  void EditManifest(int64_t step, const std::function<void(CheckpointManifest&)>& edit) const {
    CheckpointManifest manifest = ReadCheckpointManifest(Place(step).path()).value();
    edit(manifest);
    ASSERT_TRUE(
        base::WriteFileAtomically(Place(step).path() + "/manifest.json", ToJson(manifest)).ok());
  }

  ScratchDirectory scratch_;
  mutable base::WallMicros written_ = 0;
};

TEST_F(CheckpointTest, AnyRangeIsReadAcrossTheRanksThatWroteIt) {
  Write(3);
  auto state = Open(3);
  ASSERT_TRUE(state.ok()) << state.error().message;
  for (int64_t begin = 0; begin < kTotal; ++begin) {
    for (int64_t count = 1; begin + count <= kTotal; ++count)
      EXPECT_EQ(Read(*state, "master", begin, count), Values(3, begin, count));
  }
  EXPECT_EQ(Read(*state, "exp_avg", 2, 5), Values(3, 2, 5));
}

TEST_F(CheckpointTest, TheManifestComesBackAsItWasWritten) {
  Write(3, 1.25);
  const CheckpointManifest manifest = ReadCheckpointManifest(Place(3).path()).value();
  EXPECT_EQ(manifest.step, 3);
  EXPECT_EQ(manifest.total_steps, 50);
  EXPECT_EQ(manifest.val_loss, 1.25);
  EXPECT_EQ(manifest.job.name, "tiny");
  EXPECT_EQ(manifest.files.size(), 2u);
  EXPECT_EQ(ToJson(CheckpointManifestFromJson(ToJson(manifest), "m").value()), ToJson(manifest));
}

TEST_F(CheckpointTest, AWriterKilledAtAnyPointLeavesThePreviousOneToServe) {
  Write(1);
  const auto newest = [&] { return FindCheckpoint(directory()).value().manifest.step; };
  // Killed in the middle of a file: it has its temporary name still.
  {
    auto part = CheckpointPart::Create({Place(2), 0, 2, {Slice("master", 0, 6)}}).value();
    EXPECT_EQ(newest(), 1);
  }
  WritePart(2, 0, 2, {Slice("master", 0, 6)});
  EXPECT_EQ(newest(), 1);
  WritePart(2, 1, 2, {Slice("exp_avg", 0, kTotal), Slice("master", 6, 4)});
  EXPECT_EQ(newest(), 1);
  // Killed between the manifest and the rename.
  std::ofstream(Place(2).temporary_path() + "/manifest.json") << ToJson(Manifest(2, 2));
  EXPECT_EQ(newest(), 1);
  RemoveLeftovers(directory());
  EXPECT_FALSE(fs::exists(Place(2).temporary_path()));
  EXPECT_THAT(Steps(), ElementsAre(1));
}

TEST_F(CheckpointTest, AFileCutAtAnyLengthIsNotWhole) {
  Write(1);
  Write(2);
  const std::string file = Place(2).path() + "/rank-1-of-2.safetensors";
  for (auto size = static_cast<int64_t>(fs::file_size(file)) - 1; size >= 0; --size) {
    fs::resize_file(file, static_cast<uintmax_t>(size));
    EXPECT_EQ(FindCheckpoint(directory()).value().manifest.step, 1) << size;
  }
  fs::remove(file);
  EXPECT_EQ(FindCheckpoint(directory()).value().manifest.step, 1);
  EXPECT_FALSE(Open(2).ok());
}

TEST_F(CheckpointTest, AManifestCutAtAnyLengthIsNotWhole) {
  Write(1);
  Write(2);
  const std::string manifest = Place(2).path() + "/manifest.json";
  for (auto size = static_cast<int64_t>(fs::file_size(manifest)) - 2; size >= 0; size -= 7) {
    fs::resize_file(manifest, static_cast<uintmax_t>(size));
    EXPECT_EQ(FindCheckpoint(directory()).value().manifest.step, 1) << size;
  }
}

TEST_F(CheckpointTest, AFlippedBitOfTheStateIsAnErrorThatNamesTheTensor) {
  Write(1);
  const std::string file = Place(1).path() + "/rank-0-of-2.safetensors";
  std::string bytes = base::ReadFile(file, 1 << 20).value();
  for (size_t from_end = 1; from_end <= 6 * sizeof(float); ++from_end) {
    std::string damaged = bytes;
    damaged[damaged.size() - from_end] ^= 1;
    std::ofstream(file, std::ios::binary) << damaged;
    auto state = Open(1);
    ASSERT_TRUE(state.ok());
    const auto pieces =
        state->Read({.tensor = "w", .kind = "master", .begin = 5, .count = 1, .total = kTotal});
    ASSERT_FALSE(pieces.ok());
    EXPECT_THAT(pieces.error().message, HasSubstr("w:master:0"));
    EXPECT_EQ(Read(*state, "master", 6, 4), Values(1, 6, 4));
  }
}

TEST_F(CheckpointTest, CheckingManyRangesAtOnceFindsTheOneThatIsDamaged) {
  Write(1);
  const std::string file = Place(1).path() + "/rank-0-of-2.safetensors";
  std::string bytes = base::ReadFile(file, 1 << 20).value();
  bytes.back() ^= 1;
  std::ofstream(file, std::ios::binary) << bytes;
  std::vector<StateRange> ranges;
  for (const char* kind : {"exp_avg", "master", "none"}) {
    for (int64_t begin = 0; begin < kTotal; ++begin) {
      ranges.push_back({.tensor = "w", .kind = kind, .begin = begin, .count = 1, .total = kTotal});
    }
  }
  auto state = Open(1);
  ASSERT_TRUE(state.ok());
  EXPECT_THAT(state->Check(ranges).error().message, HasSubstr("w:master:0"));
  std::erase_if(ranges,
                [](const StateRange& range) { return range.kind == "master" && range.begin < 6; });
  EXPECT_TRUE(state->Check(ranges).ok());
}

TEST_F(CheckpointTest, ARangeThatIsMissingOrStoredTwiceIsNamed) {
  Write(1);
  WritePart(2, 0, 1, {Slice("master", 0, 6)});
  ASSERT_TRUE(CompleteCheckpoint(Place(2), Manifest(2, 1), kNever).ok());
  EXPECT_THAT(Open(2).error().message, HasSubstr("master of w: values 6 to 10 are in no file"));
  WritePart(3, 0, 2, {Slice("master", 0, 7)});
  WritePart(3, 1, 2, {Slice("master", 6, 4)});
  ASSERT_TRUE(CompleteCheckpoint(Place(3), Manifest(3, 2), kNever).ok());
  EXPECT_THAT(Open(3).error().message, HasSubstr("master of w: values 6 to 7 are stored twice"));
  EditManifest(1, [](CheckpointManifest& manifest) { manifest.files[1].slices[1].total = 11; });
  EXPECT_THAT(Open(1).error().message, HasSubstr("master of w: its slices differ"));
}

TEST_F(CheckpointTest, StateThatItDoesNotHoldIsNamed) {
  Write(1);
  auto state = Open(1);
  ASSERT_TRUE(state.ok());
  EXPECT_THAT(
      state->Read({.tensor = "w", .kind = "momentum", .begin = 0, .count = 1, .total = kTotal})
          .error()
          .message,
      HasSubstr("no momentum of w"));
  EXPECT_THAT(state->Read({.tensor = "w", .kind = "master", .begin = 0, .count = 1, .total = 12})
                  .error()
                  .message,
              HasSubstr("10 values: expected 12"));
}

TEST_F(CheckpointTest, RanksWhosePartsNeverComeAreNamed) {
  WritePart(1, 0, 3, {Slice("master", 0, 6)});
  const auto completed = CompleteCheckpoint(Place(1), Manifest(1, 3), kNever);
  ASSERT_FALSE(completed.ok());
  EXPECT_THAT(completed.error().message, HasSubstr("ranks 1, 2"));
  EXPECT_TRUE(Steps().empty());
}

TEST_F(CheckpointTest, ARankThatAbandonsItEndsTheWait) {
  WritePart(1, 0, 2, {Slice("master", 0, 6)});
  const auto completed = CompleteCheckpoint(Place(1), Manifest(1, 2), [&] {
    AbandonCheckpoint(Place(1));
    return true;
  });
  ASSERT_FALSE(completed.ok());
  EXPECT_EQ(completed.error().code, base::Code::kConflict);
}

TEST_F(CheckpointTest, TheNewestAndTheBestStay) {
  Write(1, 3.0);
  Write(2, 1.0);
  Write(3, 2.0);
  Write(4);
  Write(9, 0.5, "j7");  // of another run: neither counted nor removed
  Rotate({.last = 1, .best = true}, {"j0", "j1"});
  EXPECT_THAT(Steps(), ElementsAre(2, 4, 9));
  Rotate({.last = 1, .best = false}, {"j1"});
  EXPECT_THAT(Steps(), ElementsAre(4, 9));
}

TEST_F(CheckpointTest, TheSameStepAgainReplacesTheOldOne) {
  Write(1, 3.0);
  Write(1, 2.0);
  EXPECT_EQ(ReadCheckpointManifest(Place(1).path()).value().val_loss, 2.0);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory()), fs::directory_iterator()), 1);
}

TEST_F(CheckpointTest, ARunThatBeganAnewIsNewerThanTheHigherStepsOfAnOldOne) {
  Write(8);
  Write(9);
  Write(1);
  EXPECT_EQ(FindCheckpoint(directory()).value().manifest.step, 1);
  Rotate({.last = 2}, {"j1"});
  EXPECT_THAT(Steps(), ElementsAre(9, 1));
}

TEST_F(CheckpointTest, WhereThereIsNoneIsSaid) {
  EXPECT_THAT(FindCheckpoint(directory()).error().message, HasSubstr("no folder"));
  fs::create_directories(directory());
  EXPECT_THAT(FindCheckpoint(directory()).error().message, HasSubstr("no checkpoint in"));
  fs::create_directories(directory() + "/step-5");
  EXPECT_THAT(FindCheckpoint(directory()).error().message, HasSubstr("no whole checkpoint"));
}

TEST_F(CheckpointTest, IsFoundFromTheFolderAboveToo) {
  Write(2);
  EXPECT_EQ(FindCheckpoint(scratch_.path()).value().manifest.step, 2);
}

TEST_F(CheckpointTest, AMutatedManifestIsRefusedOrStaysInRange) {
  Write(1);
  const std::string whole = base::ReadFile(Place(1).path() + "/manifest.json", 1 << 20).value();
  std::mt19937_64 random(7);
  int refused = 0;
  for (int round = 0; round < 2000; ++round) {
    const std::string text = Mutate(whole, &random);
    refused += !CheckpointManifestFromJson(text, "m").ok();
    if (round % 10 != 0) continue;
    std::ofstream(Place(1).path() + "/manifest.json", std::ios::binary) << text;
    auto state = Open(1);
    if (state.ok())
      static_cast<void>(state->Read(
          {.tensor = "w", .kind = "master", .begin = 0, .count = kTotal, .total = kTotal}));
  }
  EXPECT_GT(refused, 500);
}

}  // namespace
}  // namespace trainctl::files
