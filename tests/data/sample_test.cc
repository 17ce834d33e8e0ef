#include <gmock/gmock.h>

#include "tests/checkout.h"
#include "tests/data/small_tokenizers.h"
#include "worker/rank/data/dataset.h"

namespace trainctl::data {
namespace {

using testing::HasSubstr;

// Data beside a model whose tokens are the text's bytes; every size counts as large.
class SampleTest : public testing::Test {
 protected:
  SampleTest() : model_(WriteByteModel(directory_)) { data_.format = job::DataFormat::kText; }

  static std::string Row(int number) {
    return "{\"text\": \"row " + std::to_string(number) + std::string(number % 40, '.') + "\"}";
  }
  static std::string Rows(int count, const std::string& between) {
    std::string text = Row(0);
    for (int i = 1; i < count; ++i) text += between + Row(i);
    return text;
  }
  base::Result<Dataset> Sample(const std::string& path) {
    data_.path = path;
    return LoadSample(data_, model_, directory_.path(), 1000, "", size_);
  }

  ScratchDirectory directory_;
  job::ModelShape model_;
  job::DataSpec data_;
  SampleSize size_ = {.least_bytes = 1, .places = 4, .bytes_of_place = 2000, .first_rows = 100};
};

TEST_F(SampleTest, LinesFromHereAndThereStandForAll) {
  const auto sample = Sample(directory_.Write("d.jsonl", Rows(3000, "\n")));
  ASSERT_TRUE(sample.ok()) << sample.error().message;
  const int64_t rows = std::ssize(sample->rows);
  EXPECT_LT(rows, 400);
  EXPECT_NEAR(static_cast<double>(sample->sample_of), 3000, 300);
  EXPECT_EQ(TextOf(*sample, 0), "row 0");
  EXPECT_THAT(TextOf(*sample, static_cast<size_t>(rows) - 1), HasSubstr("row 2"));
}

TEST_F(SampleTest, AListIsLookedAtFromItsBegin) {
  const auto sample = Sample(directory_.Write("d.json", "[" + Rows(3000, ", ") + "]"));
  ASSERT_TRUE(sample.ok()) << sample.error().message;
  EXPECT_EQ(std::ssize(sample->rows), 100);
  EXPECT_NEAR(static_cast<double>(sample->sample_of), 3000, 600);
  EXPECT_EQ(Sample(directory_.Write("d.json", "[" + Rows(99, ", ") + "]"))->sample_of, 0);
}

TEST_F(SampleTest, RowsThatAreNotManyAreAllLookedAt) {
  const std::string path = directory_.Write("d.jsonl", Rows(3000, "\n"));
  data_.max_rows = 100;
  EXPECT_EQ(Sample(path)->sample_of, 0);
  EXPECT_EQ(std::ssize(Sample(path)->rows), 100);
  data_.max_rows = 101;
  EXPECT_EQ(Sample(path)->sample_of, 101);
  data_.max_rows.reset();
  size_.bytes_of_place = 1 << 20;
  EXPECT_EQ(Sample(path)->sample_of, 0);
  EXPECT_EQ(std::ssize(Sample(path)->rows), 3000);
  size_ = {};
  EXPECT_EQ(Sample(path)->digest, LoadDataset(data_, model_, directory_.path(), 1000)->digest);
}

TEST_F(SampleTest, TablesSayHowManyRowsTheyHave) {
  size_ = {.least_bytes = 1, .places = 2, .rows_of_place = 1};
  for (const char* name : {"rows.parquet", "shards"}) {
    const auto sample = Sample(checkout::File(std::string("tests/baselines/tables/") + name));
    ASSERT_TRUE(sample.ok()) << name << ": " << sample.error().message;
    EXPECT_LT(std::ssize(sample->rows), 9) << name;
    EXPECT_EQ(sample->sample_of, 9) << name;
    EXPECT_EQ(TextOf(*sample, 0), "red and 0");
  }
  const auto stream = Sample(checkout::File("tests/baselines/tables/words.arrow"));
  EXPECT_NEAR(static_cast<double>(stream->sample_of), 9, 4);
}

TEST_F(SampleTest, RowsOfATokenFileFollowFromItsSize) {
  data_.format = job::DataFormat::kBin;
  constexpr int64_t kTokens = 3 << 20;  // several blocks
  std::string bytes(2 * kTokens, '\1');
  bytes[2 * kTokens - 2] = '\0';
  const std::string path = directory_.Write("d.bin", bytes);
  const auto sample = Sample(path);
  ASSERT_TRUE(sample.ok()) << sample.error().message;
  EXPECT_EQ(std::ssize(sample->rows), (kTokens + 999) / 1000);
  EXPECT_EQ(sample->sample_of, 0) << "all are here";
  EXPECT_THAT(sample->digest, HasSubstr("sampled"));
  EXPECT_EQ(sample->tokens.Largest(0, kTokens), 257);
  EXPECT_EQ(sample->tokens.Largest(kTokens - 1, kTokens), 256);
  model_.vocab = 257;
  EXPECT_THAT(Sample(path).error().message, HasSubstr("token 0 is 257, beyond the model's"));
}

TEST_F(SampleTest, PicturesWithinTablesAreSampledWithTheirRows) {
  data_ = {.path = checkout::File("tests/baselines/tables/pictures.parquet"),
           .format = job::DataFormat::kCaptions,
           .columns = {{"text", "caption"}}};
  model_.family = "blip-2";
  model_.image = job::ImageShape{.token = 280, .queries = 3};
  size_ = {.least_bytes = 1, .places = 1, .rows_of_place = 1, .first_rows = 0};
  const auto sample =
      LoadSample(data_, model_, directory_.path(), 1000, directory_.path() + "/cache", size_);
  ASSERT_TRUE(sample.ok()) << sample.error().message;
  ASSERT_EQ(sample->pictures.size(), 2);
  EXPECT_EQ(sample->sample_of, 3);
  EXPECT_TRUE(images::ReadPicture(sample->pictures[1]).ok());
}

// An imagefolder's rows.
TEST_F(SampleTest, RowsThatNamePicturesAreSampledToo) {
  data_.format = job::DataFormat::kCaptions;
  model_.family = "blip-2";
  model_.image = job::ImageShape{.token = 280, .queries = 3};
  size_.least_bytes_of_paths = 1;
  std::string csv = "file_name,text\n", json;
  for (int i = 0; i < 3000; ++i) {
    const std::string name = std::to_string(i) + ".png";
    csv += name + ",\"a, \"\"b\"\"\nline\"\n";
    json += R"({"file_name": ")" + name + R"(", "text": "a, b"})" + "\n";
  }
  for (const auto& [file, text] : {std::pair("metadata.csv", csv), {"metadata.jsonl", json}}) {
    directory_.Write(file, text);
    const auto sample = Sample(directory_.path());
    ASSERT_TRUE(sample.ok()) << sample.error().message;
    const int64_t rows = std::ssize(sample->rows);
    EXPECT_LT(rows, 500) << file;
    EXPECT_NEAR(static_cast<double>(sample->sample_of), 3000, 300) << file;
    ASSERT_EQ(sample->pictures.size(), rows);
    EXPECT_EQ(sample->pictures[0].path, directory_.path() + "/0.png");
    EXPECT_GT(sample->pictures[rows - 1].path, directory_.path() + "/2");
  }
}

TEST_F(SampleTest, OtherSamplesAreOtherDigests) {
  const std::string first = Sample(directory_.Write("d.jsonl", Rows(3000, "\n")))->digest;
  EXPECT_EQ(Sample(directory_.Write("e.jsonl", Rows(3000, "\n")))->digest, first);
  EXPECT_NE(Sample(directory_.Write("e.jsonl", Rows(3001, "\n")))->digest, first);
  std::string other = Rows(3000, "\n");
  other[other.find("row")] = 'R';
  EXPECT_NE(Sample(directory_.Write("e.jsonl", other))->digest, first);
}

TEST_F(SampleTest, ABrokenLineIsToldWithItsPlace) {
  std::string text = Rows(3000, "\n");
  const size_t half = text.size() / 2;
  const size_t begin = text.find('\n', half) + 1;
  text.replace(begin, 8, "{\"txet\":");
  EXPECT_EQ(Sample(directory_.Write("d.jsonl", text)).error().message,
            directory_.path() + "/d.jsonl: from byte " + std::to_string(begin) +
                ": line 1.text: missing: expected a string");
}

}  // namespace
}  // namespace trainctl::data
