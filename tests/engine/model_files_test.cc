// A model's weights as one file or as shards with their index.
#include <ATen/ATen.h>
#include <gmock/gmock.h>

#include <filesystem>
#include <limits>
#include <span>

#include "tests/files/scratch_directory.h"
#include "worker/rank/files/weights.h"
#include "worker/rank/state/model_files.h"

namespace trainctl::engine_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNames[] = {"a", "b", "c"};

// Three tensors of four numbers each.
void Write(const std::string& folder, int64_t most_shard_bytes, double first) {
  train::ModelFiles file(at::kFloat, most_shard_bytes);
  for (const char* name : kNames) file.Declare(name, {2, 2});
  file.Create(folder);
  for (int i = 0; i < 3; ++i) file.Append(at::full({2, 2}, first + i));
  const auto finished = file.Finish();
  ASSERT_TRUE(finished.ok()) << finished.error().message;
}

void ExpectReads(const std::string& folder, double first) {
  const auto weights = files::WeightFiles::Open(folder);
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  for (int i = 0; i < 3; ++i) {
    ASSERT_NE(weights->Find(kNames[i]), nullptr);
    EXPECT_EQ(*reinterpret_cast<const float*>(weights->Runs(kNames[i])[0].data()), first + i);
  }
}

TEST(ModelFiles, ALargeModelIsShardedAndReadAsOne) {
  const ScratchDirectory scratch;
  Write(scratch.path(), 40, 1);
  EXPECT_TRUE(fs::exists(scratch.path() + "/model-00001-of-00002.safetensors"));
  EXPECT_TRUE(fs::exists(scratch.path() + "/model-00002-of-00002.safetensors"));
  EXPECT_FALSE(fs::exists(scratch.path() + "/model.safetensors"));
  ExpectReads(scratch.path(), 1);
}

TEST(ModelFiles, WhatAnEarlierRunLeftInTheOtherFormDoesNotCount) {
  const ScratchDirectory scratch;
  Write(scratch.path(), 1000, 1);
  ExpectReads(scratch.path(), 1);
  Write(scratch.path(), 16, 5);
  ExpectReads(scratch.path(), 5);
  Write(scratch.path(), 1000, 9);
  ExpectReads(scratch.path(), 9);
}

TEST(ModelFiles, NumbersAreRoundedToTheFilesType) {
  const ScratchDirectory scratch;
  train::ModelFiles file(at::kHalf, 8);
  const at::Tensor values = at::tensor({1.0 / 3, -65519.0, 6e-8, 1.0 + 1.0 / 1024}, at::kFloat);
  file.Declare("a", {4});
  file.Declare("b", {4});
  file.Create(scratch.path());
  file.Append(values);
  file.Append((values / 2).to(at::kBFloat16));
  ASSERT_TRUE(file.Finish().ok());
  EXPECT_TRUE(fs::exists(scratch.path() + "/model-00002-of-00002.safetensors"));
  const auto weights = files::WeightFiles::Open(scratch.path());
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  EXPECT_EQ(weights->Find("a")->dtype, files::DType::kF16);
  const auto saved = [&](const char* name) {
    return std::span(reinterpret_cast<const at::Half*>(weights->Runs(name)[0].data()), 4);
  };
  EXPECT_THAT(saved("a"), testing::ElementsAre(at::Half(1.0f / 3), -65504, at::Half(6e-8f),
                                               at::Half(1.0f + 1.0f / 1024)));
  EXPECT_EQ(saved("b")[0], at::Half(float(at::BFloat16(1.0f / 6))));
}

TEST(ModelFiles, ANumberOutOfTheTypesRangeIsAnErrorThatNamesItsTensor) {
  const ScratchDirectory scratch;
  const float infinity = std::numeric_limits<float>::infinity();
  train::ModelFiles file(at::kHalf, 4);
  for (const char* name : kNames) file.Declare(name, {2});
  file.Create(scratch.path());
  file.Append(at::tensor({infinity, -infinity}, at::kFloat));  // what is infinite stays so
  file.Append(at::tensor({0.5, -70000.0}, at::kFloat));
  file.Append(at::tensor({1e6, infinity}, at::kFloat));
  const base::Status finished = file.Finish();
  ASSERT_FALSE(finished.ok());
  EXPECT_EQ(finished.error().code, base::Code::kInvalid);
  EXPECT_EQ(finished.error().message,
            "tensor 'b' has a weight of magnitude 70000, more than a float16 holds: set "
            "output.dtype to float32 or bfloat16");
}

TEST(ModelFiles, ARankThatDoesNotWriteTakesTensorsAllTheSame) {
  train::ModelFiles file(at::kFloat);
  file.Declare("a", {2, 2});
  file.Append(at::zeros({2, 2}));
  EXPECT_TRUE(file.Finish().ok());
}

}  // namespace
}  // namespace trainctl::engine_test
