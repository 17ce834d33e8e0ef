#include "worker/rank/data/captions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "common/base/file.h"
#include "common/job/data_format.h"
#include "tests/checkout.h"
#include "tests/data/small_tokenizers.h"
#include "worker/rank/data/dataset.h"
#include "worker/rank/data/row_format.h"
#include "worker/rank/data/row_lines.h"

namespace trainctl::data {
namespace {

using images::PictureFile;
using job::OnBrokenPicture::kRefuse;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr Placeholders kThree = {.token = 280, .count = 3};

// Captions beside a tokenizer whose tokens are the text's bytes: bos 254, eos 255.
std::vector<int64_t> IdsOf(const TokenStore& tokens) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < tokens.size(); ++i) ids.push_back(tokens[i]);
  return ids;
}

class CaptionsTest : public testing::Test {
 protected:
  CaptionsTest() : model_(WriteByteModel(directory_)) {
    data_.format = job::DataFormat::kCaptions;
    tokenizer_ = LoadTokenizer(directory_.path()).value();
  }

  base::Result<Tokenized> Read(const std::string& name, const std::string& content,
                               int64_t max_seq_length = 100) {
    const BoundaryTokens boundary =
        ReadBoundaryTokens(*tokenizer_, model_, directory_.path()).value();
    const auto read = RowReaderOf(data_, *tokenizer_, boundary, directory_.path(),
                                  {{directory_.path() + "/" + name}, kThree});
    RowCollector rows(*tokenizer_, boundary, model_.vocab, max_seq_length);
    const auto add = [&](const files::JsonObject& row) { return (*read)(row, &rows); };
    const auto lines = OpenRowLines(content, name);
    if (!lines) return lines.error();
    const auto all = (*lines)->Read((*lines)->text(), name, (*lines)->first_line(), add);
    if (!all) return all.error();
    auto made = rows.Take();
    return std::move(*made);
  }
  static PictureList ListOf(const std::vector<PictureFile>& files) {
    PictureListSpool spool;
    for (const PictureFile& file : files) EXPECT_TRUE(spool.Append(file).ok());
    return spool.Take().value();
  }
  static std::vector<PictureFile> FilesIn(const PictureList& list) {
    std::vector<PictureFile> files;
    for (int64_t row = 0; row < list.size(); ++row) files.push_back(list[row]);
    return files;
  }
  std::string Path(const std::string& name) const { return directory_.path() + "/" + name; }
  PictureFile File(const std::string& name) const { return {Path(name)}; }

  ScratchDirectory directory_;
  job::ModelShape model_;
  job::DataSpec data_;
  std::unique_ptr<Tokenizer> tokenizer_;
};

TEST_F(CaptionsTest, PlaceholdersStandBeforeBosAndTheCaptionAloneCounts) {
  const auto made = Read("rows.jsonl", R"({"image": "a/b.png", "text": "hi"})");
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_THAT(IdsOf(made->tokens), ElementsAre(280, 280, 280, 254, 'h', 'i', 255));
  EXPECT_EQ(made->rows.at(0).ignored, 4);
  EXPECT_THAT(FilesIn(made->pictures), ElementsAre(File("a/b.png")));
}

TEST_F(CaptionsTest, WhatIsTooLongIsCutAtTheCaptionsEnd) {
  const auto made = Read("rows.jsonl", R"({"image": "a.png", "text": "abcdef"})", 6);
  EXPECT_THAT(IdsOf(made->tokens), ElementsAre(280, 280, 280, 254, 'a', 'b'));
  EXPECT_EQ(made->rows.at(0).ignored, 4);
}

TEST_F(CaptionsTest, AnImagefolderNamesItsPicturesFileName) {
  for (const auto& [name, content] :
       {std::pair("metadata.csv", "file_name,text\na.png,one\nb.png,\"two, three\"\n"),
        std::pair("metadata.jsonl", R"({"file_name": "a.png", "text": "one"}
                                       {"file_name": "b.png", "text": "two, three"})")}) {
    const auto made = Read(name, content);
    ASSERT_TRUE(made.ok()) << made.error().message;
    EXPECT_THAT(FilesIn(made->pictures), ElementsAre(File("a.png"), File("b.png")));
    EXPECT_EQ(made->rows.at(1).length, 3 + 1 + 10 + 1);
  }
}

TEST_F(CaptionsTest, TheJobMayNameBothColumns) {
  data_.columns = {{"image", "path"}, {"text", "caption"}};
  const auto made = Read("rows.jsonl", R"({"path": "/x/y.jpg", "caption": "a", "image": "no"})");
  ASSERT_TRUE(made.ok()) << made.error().message;
  EXPECT_THAT(FilesIn(made->pictures), ElementsAre(PictureFile{"/x/y.jpg"}));
}

TEST_F(CaptionsTest, AMissingKeyIsToldWithItsRow) {
  EXPECT_THAT(Read("rows.jsonl", "\n{\"text\": \"a\"}").error().message,
              HasSubstr("rows.jsonl: line 2.image"));
  EXPECT_THAT(Read("metadata.csv", "file_name,words\na,b\n").error().message,
              HasSubstr("metadata.csv: line 2.text"));
}

TEST_F(CaptionsTest, AFolderIsReadByItsMetadata) {
  EXPECT_EQ(CaptionsFile("/no/such/rows.jsonl").value(), "/no/such/rows.jsonl");
  EXPECT_THAT(CaptionsFile(directory_.path()).error().message,
              HasSubstr("neither metadata.jsonl nor metadata.csv"));
  const std::string csv = directory_.Write("metadata.csv", "");
  EXPECT_EQ(CaptionsFile(directory_.path()).value(), csv);
  const std::string lines = directory_.Write("metadata.jsonl", "");
  EXPECT_EQ(CaptionsFile(directory_.path()).value(), lines);
}

TEST_F(CaptionsTest, AModelWithoutPicturesIsRefused) {
  data_.path = directory_.Write("rows.jsonl", R"({"image": "a.png", "text": "hi"})");
  const auto dataset = LoadDataset(data_, model_, directory_.path(), 100);
  ASSERT_FALSE(dataset.ok());
  EXPECT_EQ(dataset.error().code, base::Code::kInvalid);
  EXPECT_THAT(dataset.error().message, HasSubstr("a model of type 'llama' takes no pictures"));
}

TEST_F(CaptionsTest, AModelOfPicturesHasItsPlaceholdersInEachRow) {
  model_.family = "blip-2";
  model_.image = job::ImageShape{.token = 280, .queries = 3};
  data_.path = directory_.Write("rows.jsonl", R"({"image": "a.png", "text": "hi"})");
  const auto dataset = LoadDataset(data_, model_, directory_.path(), 100);
  ASSERT_TRUE(dataset.ok()) << dataset.error().message;
  EXPECT_EQ(dataset->longest_row, 3 + 1 + 2 + 1);
  EXPECT_EQ(dataset->tokens[2], 280);
  EXPECT_THAT(FilesIn(dataset->pictures), ElementsAre(File("a.png")));
}

TEST_F(CaptionsTest, APreprocessorThatMakesOtherPicturesIsRefused) {
  model_.family = "blip-2";
  model_.image = job::ImageShape{.side = 28, .token = 280, .queries = 3};
  data_.path = directory_.Write("rows.jsonl", R"({"image": "a.png", "text": "hi"})");
  directory_.Write("preprocessor_config.json", R"({"size": 28, "resample": 2})");
  EXPECT_THAT(LoadDataset(data_, model_, directory_.path(), 100).error().message,
              HasSubstr("preprocessor_config.json: resample: 2: expected 3"));
}

TEST_F(CaptionsTest, AModelOfPicturesTakesNoRowsWithoutThem) {
  model_.family = "blip-2";
  model_.image = job::ImageShape{.token = 280, .queries = 3};
  data_.path = directory_.Write("rows.jsonl", R"({"text": "hi"})");
  for (const auto format :
       {job::DataFormat::kText, job::DataFormat::kPlain, job::DataFormat::kBin}) {
    data_.format = format;
    const auto dataset = LoadDataset(data_, model_, directory_.path(), 100);
    ASSERT_FALSE(dataset.ok());
    EXPECT_EQ(dataset.error().code, base::Code::kInvalid);
    EXPECT_THAT(dataset.error().message,
                AllOf(HasSubstr("data.format \"" + std::string(Name(format)) + "\""),
                      HasSubstr("'blip-2' takes a picture with each row; expected \"captions\"")));
  }
}

TEST_F(CaptionsTest, BadPicturesAreNamedTheFirstOnes) {
  const std::string good = checkout::File("tests/baselines/images/rgb.png");
  const std::string broken = directory_.Write("broken.png", "no picture");
  EXPECT_TRUE(CheckPictures({}, kRefuse).ok());
  EXPECT_TRUE(CheckPictures(ListOf(std::vector<PictureFile>(5, {good})), kRefuse).ok());
  const std::vector<PictureFile> files = {
      {good}, File("x"), {broken}, {directory_.path()}, File("y")};
  const auto checked = CheckPictures(ListOf(files), kRefuse, {.most_told = 3});
  ASSERT_FALSE(checked.ok());
  EXPECT_THAT(checked.error().message,
              AllOf(HasSubstr("4 of 5 pictures"), HasSubstr("row 1: cannot open " + Path("x")),
                    HasSubstr("row 2: " + broken + ": neither JPEG"), HasSubstr("row 3: "),
                    Not(HasSubstr("row 4")), HasSubstr("…")));
}

TEST_F(CaptionsTest, BrokenPicturesAreCountedWhereTheirRowsAreLeftOutAndMissingOnesRefused) {
  const std::string good = checkout::File("tests/baselines/images/rgb.png");
  const std::string broken = directory_.Write("broken.png", "no picture");
  std::vector<PictureFile> files = {{good}, {broken}, {good}, {broken}};
  const auto counts = CheckPictures(ListOf(files), job::OnBrokenPicture::kSkip);
  ASSERT_TRUE(counts.ok()) << counts.error().message;
  EXPECT_EQ(counts->decoded, 4);
  EXPECT_EQ(counts->broken, 2);
  EXPECT_THAT(
      CheckPictures(ListOf(std::vector<PictureFile>(2, {broken})), job::OnBrokenPicture::kSkip)
          .error()
          .message,
      HasSubstr("none of the 2 pictures"));
  files.push_back(File("missing"));
  const auto missing = CheckPictures(ListOf(files), job::OnBrokenPicture::kSkip);
  ASSERT_FALSE(missing.ok()) << "training will not leave it out";
  EXPECT_THAT(missing.error().message,
              AllOf(HasSubstr("1 of 5 pictures"), HasSubstr("row 4: "), Not(HasSubstr("row 1"))));
}

TEST_F(CaptionsTest, RowsOfBrokenPicturesAreLeftOutWhereTheJobSaysSo) {
  model_.family = "blip-2";
  model_.image = job::ImageShape{.token = 280, .queries = 3};
  const std::string good = checkout::File("tests/baselines/images/rgb.png");
  const std::string broken = directory_.Write("broken.png", "no picture");
  const auto row = [](const std::string& picture, const std::string& text) {
    return "{\"image\": \"" + picture + "\", \"text\": \"" + text + "\"}\n";
  };
  data_.path = directory_.Write("rows.jsonl", row(broken, "a") + row(good, "bc") +
                                                  row("empty.png", "def") + row(good, "ghij"));
  directory_.Write("empty.png", "");
  const auto load = [&] { return LoadDataset(data_, model_, directory_.path(), 100); };
  const auto all = load();
  EXPECT_EQ(all->rows.size(), 4u);
  data_.on_broken_picture = job::OnBrokenPicture::kSkip;
  std::vector<int64_t> told;
  const auto bytes = static_cast<int64_t>(std::filesystem::file_size(data_.path));
  const auto dataset =
      LoadDataset(data_, model_, directory_.path(), 100, "", [&](int64_t done, int64_t total) {
        EXPECT_EQ(total, 3 * bytes);
        told.push_back(done);
      });
  ASSERT_TRUE(dataset.ok()) << dataset.error().message;
  EXPECT_EQ(told.back(), 3 * bytes) << "of the pictures that are looked at, too";
  EXPECT_TRUE(std::ranges::is_sorted(told));
  ASSERT_EQ(dataset->rows.size(), 2u);
  EXPECT_EQ(dataset->rows[0].length, 3 + 1 + 2 + 1);
  EXPECT_EQ(dataset->rows[1].length, 3 + 1 + 4 + 1);
  EXPECT_EQ(dataset->train.size(), 2u);
  EXPECT_THAT(FilesIn(dataset->pictures), ElementsAre(PictureFile{good}, PictureFile{good}));
  ASSERT_EQ(dataset->skipped.size(), 2u);
  EXPECT_EQ(dataset->skipped[1].row, 2);
  EXPECT_THAT(BrokenText(dataset->skipped),
              AllOf(HasSubstr("row 0: " + broken + ": neither JPEG"),
                    HasSubstr("row 2: " + Path("empty.png") + ": an empty file")));
  EXPECT_NE(dataset->digest, all->digest);
  std::filesystem::copy_file(good, directory_.path() + "/empty.png",
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_NE(load()->digest, dataset->digest) << "one row less is left out";
  std::filesystem::copy_file(good, broken, std::filesystem::copy_options::overwrite_existing);
  EXPECT_EQ(load()->digest, all->digest) << "none is";
  std::filesystem::remove(directory_.path() + "/empty.png");
  const auto missing = load();  // perhaps on this host alone
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().code, base::Code::kNotFound);
  EXPECT_THAT(missing.error().message,
              HasSubstr("rows.jsonl: row 2: cannot open " + Path("empty.png")));
  directory_.Write("broken.png", "no picture");
  data_.path = directory_.Write("rows.jsonl", row(broken, "a"));
  EXPECT_THAT(load().error().message, HasSubstr("none of the pictures can be read"));
}

TEST_F(CaptionsTest, ALargeDataSetIsLookedAtHereAndThere) {
  const std::string good = checkout::File("tests/baselines/images/rgb.png");
  const std::string broken = directory_.Write("broken.png", "no picture");
  std::vector<PictureFile> files(1000, {good});
  files[501] = File("missing");  // none of every tenth
  files[10] = {broken};          // is there, and none of every hundredth
  const PictureSample sample = {.most_found = 100, .most_decoded = 10};
  EXPECT_TRUE(CheckPictures(ListOf(files), kRefuse, sample).ok());
  files[510] = File("missing");
  files[300] = {broken};
  EXPECT_THAT(
      CheckPictures(ListOf(files), kRefuse, sample).error().message,
      AllOf(HasSubstr("2 of 100 pictures"), HasSubstr("row 300: "), HasSubstr("row 510: ")));
  const PictureSample of_sample = {.most_found = 100, .most_decoded = 10, .has_all_rows = false};
  EXPECT_THAT(CheckPictures(ListOf(files), kRefuse, of_sample).error().message,
              AllOf(HasSubstr(":\n  " + broken), Not(HasSubstr("row 3")),
                    HasSubstr("data.on_broken_picture \"skip\"")));
}

TEST_F(CaptionsTest, AFifoIsBrokenAsItIsWhereItIsDecoded) {
  std::vector<PictureFile> files(100, {checkout::File("tests/baselines/images/rgb.png")});
  const std::string fifo = Path("fifo");
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  files[55] = {fifo};
  for (const int64_t decoded : {1, 100}) {
    const PictureSample sample = {.most_found = 100, .most_decoded = decoded};
    const auto refused = CheckPictures(ListOf(files), kRefuse, sample);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.error().message, HasSubstr("data.on_broken_picture \"skip\""));
    const auto skipped = CheckPictures(ListOf(files), job::OnBrokenPicture::kSkip, sample);
    ASSERT_TRUE(skipped.ok()) << skipped.error().message;
    EXPECT_EQ(skipped->broken, 1);
  }
  EXPECT_TRUE(FindBroken(ListOf(files), 1, [](int64_t) {}).ok());
}

TEST_F(CaptionsTest, TheShippedPicturesHaveCaptions) {
  const std::string file = CaptionsFile(checkout::File("deploy/data/captions")).value();
  std::vector<PictureFile> pictures;
  std::vector<std::string> captions;
  const auto take = [&](const files::JsonObject& row) -> base::Status {
    pictures.push_back(PictureOf(data_, row, {file}).value());
    captions.push_back(row.Text("text"));
    return base::Ok{};
  };
  const auto rows = ReadJsonRows(base::ReadFile(file, 1 << 20).value(), file, std::nullopt, take);
  ASSERT_TRUE(rows.ok()) << rows.error().message;
  EXPECT_EQ(*rows, 36);
  EXPECT_EQ(captions.front(), "a red circle on white");
  EXPECT_TRUE(CheckPictures(ListOf(pictures), kRefuse).ok());
}

}  // namespace
}  // namespace trainctl::data
