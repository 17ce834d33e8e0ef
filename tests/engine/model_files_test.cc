// A model's weights as one file or as shards with their index.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <filesystem>

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

TEST(ModelFiles, ARankThatDoesNotWriteTakesTensorsAllTheSame) {
  train::ModelFiles file(at::kFloat);
  file.Declare("a", {2, 2});
  file.Append(at::zeros({2, 2}));
  EXPECT_TRUE(file.Finish().ok());
}

}  // namespace
}  // namespace trainctl::engine_test
