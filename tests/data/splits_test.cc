#include <gmock/gmock.h>

#include <filesystem>

#include "tests/data/small_tokenizers.h"
#include "worker/rank/data/dataset.h"
#include "worker/rank/data/inspect.h"

namespace trainctl::data {
namespace {

using testing::HasSubstr;

// A folder of data beside a model whose tokens are the text's bytes.
class SplitsTest : public testing::Test {
 protected:
  SplitsTest() : model_(WriteByteModel(directory_)) {
    std::filesystem::create_directory(folder_);
    data_ = {.path = folder_, .format = job::DataFormat::kText};
    Write("train.jsonl", "{\"text\": \"abc\"}\n{\"text\": \"defg\"}\n");
    Write("val.json", "[{\"text\": \"hijklmn\"}]");
  }

  void Write(const std::string& name, const std::string& text) {
    directory_.Write("data/" + name, text);
  }
  base::Result<Dataset> Load() { return LoadDataset(data_, model_, directory_.path(), 100); }
  std::string Fault() {
    const auto dataset = Load();
    return dataset ? "" : dataset.error().message;
  }

  ScratchDirectory directory_;
  const std::string folder_ = directory_.path() + "/data";
  job::ModelShape model_;
  job::DataSpec data_;
};

TEST_F(SplitsTest, OneTrainsAndAnotherValidates) {
  data_.split = "train";
  const auto alone = Load();
  ASSERT_TRUE(alone.ok()) << alone.error().message;
  EXPECT_EQ(alone->rows.size(), 2u);
  EXPECT_EQ(alone->validation, nullptr);
  data_.val_split = "val";
  data_.max_rows = 1;  // of those that train
  const auto both = Load();
  ASSERT_TRUE(both.ok()) << both.error().message;
  ASSERT_EQ(both->train.size(), 1u);
  EXPECT_EQ(TextOf(*both, 0), "abc");
  ASSERT_EQ(both->val.size(), 1u);
  EXPECT_EQ(TextOf(ValidationOf(*both), static_cast<size_t>(both->val[0])), "hijklmn");
  EXPECT_NE(both->digest, alone->digest);
  const std::string digest = both->digest;
  Write("val.json", "[{\"text\": \"hijklmN\"}]");
  EXPECT_NE(Load()->digest, digest);
}

TEST_F(SplitsTest, AFileOfItsOwnMayValidate) {
  data_.path = folder_ + "/train.jsonl";
  data_.val_path = folder_ + "/val.json";
  const auto both = Load();
  ASSERT_TRUE(both.ok()) << both.error().message;
  EXPECT_EQ(both->train.size(), 2u);
  EXPECT_EQ(TextOf(ValidationOf(*both), 0), "hijklmn");
  data_.val_path = folder_;
  data_.val_split = "val";
  EXPECT_EQ(TextOf(ValidationOf(*Load()), 0), "hijklmn");
  data_.val_split.reset();
  data_.val_path = folder_ + "/none.json";
  EXPECT_EQ(Load().error().code, base::Code::kNotFound);
}

TEST_F(SplitsTest, AnInspectionCountsBothAndTheLongestRowOfEach) {
  job::JobSpec job{.data = data_};
  job.model.path = directory_.path();
  job.data.split = "train";
  job.data.val_split = "val";
  const auto inspection = Inspect(job);
  ASSERT_TRUE(inspection.ok()) << inspection.error().message;
  EXPECT_EQ(inspection->rows, 2);
  EXPECT_EQ(inspection->validation_rows, 1);
  EXPECT_EQ(inspection->longest_row, 6);
  EXPECT_EQ(inspection->longest_validation_row, 9);
  job.data.val_split.reset();
  job.data.val_split_fraction = 0.5;
  const auto halves = Inspect(job);
  ASSERT_TRUE(halves.ok()) << halves.error().message;
  EXPECT_EQ(halves->longest_row + halves->longest_validation_row, halves->total_tokens);
}

TEST_F(SplitsTest, ATableIsRefusedWhereTheFormatReadsNone) {
  const std::string name = "train-00000-of-00001.parquet";
  std::filesystem::rename(folder_ + "/train.jsonl", folder_ + "/" + name);
  directory_.Write("text.txt", "abc");
  for (const auto format : {job::DataFormat::kPlain, job::DataFormat::kBin}) {
    data_ = {.path = folder_, .format = format, .split = "train"};
    EXPECT_THAT(Fault(), HasSubstr(name + ": rows of Arrow or Parquet"))
        << static_cast<int>(format);
  }
  data_ = {.path = directory_.path() + "/text.txt", .format = job::DataFormat::kPlain};
  data_.val_path = folder_;
  data_.val_split = "train";
  EXPECT_THAT(Fault(), HasSubstr(name + ": rows of Arrow or Parquet"));
}

TEST_F(SplitsTest, WhatIsNotThereOrTwiceIsTold) {
  data_.split = "test";
  EXPECT_THAT(Fault(), HasSubstr("/data: has no split 'test'"));
  data_.split = "../data";
  EXPECT_THAT(Fault(), HasSubstr("expected a name without '/'"));
  data_.split = "train";
  Write("my-train.json", "[]");
  EXPECT_THAT(Fault(), HasSubstr("are both split 'train'"));
  data_.path += "/train.jsonl";
  EXPECT_THAT(Fault(), HasSubstr("has no split 'train': it is no folder"));
}

}  // namespace
}  // namespace trainctl::data
