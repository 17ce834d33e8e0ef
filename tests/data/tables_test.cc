#include <gmock/gmock.h>

#include <filesystem>

#include "common/base/file.h"
#include "tests/checkout.h"
#include "tests/data/small_tokenizers.h"
#include "worker/rank/data/captions.h"
#include "worker/rank/data/dataset.h"
#include "worker/rank/images/picture_file.h"

namespace trainctl::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

namespace fs = std::filesystem;

// What datasets and pyarrow wrote (tests/baselines/generate_tables.py), and the same as JSON.
std::string Baseline(const std::string& name) {
  return checkout::File("tests/baselines/tables/" + name);
}

struct Tokens {
  std::vector<int64_t> ids, lengths, ignored;
  bool operator==(const Tokens&) const = default;
};

class TablesTest : public testing::Test {
 protected:
  TablesTest() : model_(WriteByteModel(directory_)) {
    directory_.Write("tokenizer_config.json", R"({"eos_token": "<|end|>"})");
    data_.chat_template = job::ChatTemplate::kAlpaca;
  }

  // Where Arrow's library could not be fetched, the build does without.
  void SetUp() override {
    if (!fs::exists(checkout::Program("../lib/trainctl/libtrainctl_arrow.so")))
      GTEST_SKIP() << "built without Arrow's library";
  }

  base::Result<Dataset> Load(const std::string& path) {
    data_.path = path;
    return LoadDataset(data_, model_, directory_.path(), 1000);
  }
  Tokens Read(const std::string& path) {
    Tokens tokens;
    const auto dataset = Load(path);
    EXPECT_TRUE(dataset.ok()) << dataset.error().message;
    if (!dataset) return tokens;
    for (int64_t i = 0; i < dataset->tokens.size(); ++i) tokens.ids.push_back(dataset->tokens[i]);
    for (const Row& row : dataset->rows) {
      tokens.lengths.push_back(row.length);
      tokens.ignored.push_back(row.ignored);
    }
    for (const TokenSpan& span : dataset->ignored) tokens.ignored.push_back(span.end);
    return tokens;
  }
  std::string FaultOf(const std::string& path) {
    const auto dataset = Load(path);
    return dataset ? "" : dataset.error().message;
  }
  // The baseline's bytes, changed, under the name that it has.
  std::string Changed(const std::string& name, const std::function<void(std::string*)>& change) {
    std::string bytes = base::ReadFile(Baseline(name), 1 << 20).value();
    change(&bytes);
    return directory_.Write(fs::path(name).filename().string(), bytes);
  }

  ScratchDirectory directory_;
  job::ModelShape model_;
  job::DataSpec data_;
};

const char* const kAll[] = {"saved",          "saved/data-00000-of-00002.arrow",
                            "dict",           "dict/train",
                            "splits/train",   "rows.parquet",
                            "words.arrow",    "large.arrow",
                            "lz4.arrow",      "views.feather",
                            "shards",         "shards/data",
                            "binary.parquet", "pages.parquet"};

TEST_F(TablesTest, AreTheRowsThatJsonLinesAre) {
  for (const auto format : {job::DataFormat::kAlpaca, job::DataFormat::kText,
                            job::DataFormat::kCompletion, job::DataFormat::kChat}) {
    data_.format = format;
    data_.mask_prompt = true;
    Tokens expected = Read(Baseline("rows.jsonl"));
    ASSERT_EQ(expected.lengths.size(), 9u);
    for (const std::string name : kAll) {
      SCOPED_TRACE(name + " as format " + std::to_string(static_cast<int>(format)));
      const Tokens read = Read(Baseline(name));
      if (name.ends_with("-of-00002.arrow"))
        EXPECT_EQ(read.lengths.size(), 5u);
      else
        EXPECT_EQ(read, expected);
    }
  }
}

TEST_F(TablesTest, TheJobNamesColumnsAndHowManyRows) {
  data_.format = job::DataFormat::kText;
  data_.columns = {{"text", "output"}};
  data_.max_rows = 6;  // the second file's first
  const Tokens expected = Read(Baseline("rows.jsonl"));
  EXPECT_EQ(expected.lengths.size(), 6u);
  for (const char* name : {"saved", "shards", "rows.parquet", "words.arrow"})
    EXPECT_EQ(Read(Baseline(name)), expected) << name;
}

TEST_F(TablesTest, ADigestIsOfAllFilesBytes) {
  data_.format = job::DataFormat::kText;
  const std::string first = Load(Baseline("saved"))->digest;
  EXPECT_NE(first, Load(Baseline("saved/data-00000-of-00002.arrow"))->digest);
  fs::copy(Baseline("saved"), directory_.path() + "/copy");
  EXPECT_EQ(Load(directory_.path() + "/copy")->digest, first);
}

TEST_F(TablesTest, ProgressCountsAllFilesTwice) {
  data_.format = job::DataFormat::kText;
  data_.path = Baseline("shards");
  std::vector<std::pair<int64_t, int64_t>> told;
  const auto loaded = LoadDataset(data_, model_, directory_.path(), 1000, "",
                                  [&](int64_t done, int64_t all) { told.emplace_back(done, all); });
  ASSERT_TRUE(loaded.ok());
  const int64_t bytes =
      2 * static_cast<int64_t>(fs::file_size(Baseline("shards/data/train-00000-of-00002.parquet")) +
                               fs::file_size(Baseline("shards/data/train-00001-of-00002.parquet")));
  EXPECT_EQ(told.back(), std::pair(bytes, bytes));
}

TEST_F(TablesTest, AMissingColumnIsToldWithThoseThatAreThere) {
  data_.format = job::DataFormat::kText;
  data_.columns = {{"text", "caption"}};
  for (const char* name : {"rows.parquet", "words.arrow", "lz4.arrow"}) {
    EXPECT_THAT(FaultOf(Baseline(name)),
                AllOf(StartsWith(Baseline(name) + ": no column 'caption', its columns: "),
                      HasSubstr("'output', 'text'"), HasSubstr("; data.columns names others")));
  }
}

TEST_F(TablesTest, AColumnOfAnotherTypeIsToldWithItsType) {
  data_.format = job::DataFormat::kText;
  data_.columns = {{"text", "weight"}};
  EXPECT_EQ(FaultOf(Baseline("rows.parquet")),
            Baseline("rows.parquet") + ": column 'weight' is of type double, expected text");
  data_.format = job::DataFormat::kChat;
  data_.columns = {{"messages", "text"}};
  EXPECT_EQ(FaultOf(Baseline("lz4.arrow")),
            Baseline("lz4.arrow") +
                ": column 'text' is of type string, expected lists of turns (structs)");
}

TEST_F(TablesTest, ANullCellIsToldWithItsPlace) {
  data_.format = job::DataFormat::kText;
  data_.columns = {{"text", "input"}};
  EXPECT_EQ(FaultOf(Baseline("rows.parquet")), Baseline("rows.parquet") +
                                                   ": row group 0, row 0.input: null: "
                                                   "expected a string");
}

TEST_F(TablesTest, SeveralSplitsAreToldToChooseFrom) {
  data_.format = job::DataFormat::kText;
  EXPECT_EQ(FaultOf(Baseline("splits")),
            Baseline("splits") + ": has several splits; expected one of '" +
                Baseline("splits/train") + "', '" + Baseline("splits/test") +
                "', or its name as data.split");
  const Tokens train = Read(Baseline("splits/train"));
  data_.split = "train";
  EXPECT_EQ(Read(Baseline("splits")), train);
  data_.split = "validation";
  EXPECT_THAT(FaultOf(Baseline("splits")),
              StartsWith(Baseline("splits") + ": has no split 'validation'"));
}

TEST_F(TablesTest, ASplitThatIsNotThereIsTold) {
  data_.format = job::DataFormat::kText;
  directory_.Write("dataset_dict.json", R"({"splits": ["train"]})");
  EXPECT_EQ(FaultOf(directory_.path()), directory_.path() + "/train: no such folder");
}

TEST_F(TablesTest, AFolderOfTablesIsOneSplitAndAllOfIt) {
  data_.format = job::DataFormat::kText;
  const std::string hub = directory_.path() + "/hub";
  fs::copy(Baseline("shards"), hub, fs::copy_options::recursive);
  const std::string test = hub + "/data/test-00000-of-00001.parquet";
  fs::copy(Baseline("rows.parquet"), test);
  EXPECT_THAT(FaultOf(hub), StartsWith(hub + "/data: has several splits, 'test', 'train'; "));
  data_.split = "train";
  const Tokens train = Read(hub);
  data_.split = "test";
  const Tokens of_test = Read(hub);
  data_.split.reset();
  EXPECT_EQ(of_test, Read(test));
  fs::remove(test);
  EXPECT_EQ(Read(hub), Read(Baseline("shards")));
  EXPECT_EQ(Read(hub), train);
  fs::remove(hub + "/data/train-00000-of-00002.parquet");
  EXPECT_EQ(FaultOf(hub), hub +
                              "/data: split 'train': train-00001-of-00002.parquet is there, "
                              "number 0 is missing");
}

TEST_F(TablesTest, WhatIsNoTableIsToldByItsFirstBytes) {
  data_.format = job::DataFormat::kText;
  EXPECT_THAT(FaultOf(directory_.Write("a.parquet", "{\"text\": 1}")),
              HasSubstr("a.parquet: begins with \"{\"text\": 1}\", expected Parquet"));
  EXPECT_THAT(FaultOf(directory_.Write("b.arrow", "version https://git-lfs.github.com/spec/v1\n")),
              HasSubstr("b.arrow: a pointer of Git LFS in place of the file: git lfs pull"));
  EXPECT_THAT(FaultOf(directory_.Write("c.parquet", "")), HasSubstr("begins with \"\""));
  EXPECT_THAT(FaultOf(directory_.path() + "/none.arrow"), HasSubstr("none.arrow"));
  fs::create_directory(directory_.path() + "/empty");
  EXPECT_THAT(FaultOf(directory_.path() + "/empty"),
              HasSubstr("/empty is a directory, expected a regular file, or a folder"));
  data_.format = job::DataFormat::kPlain;
  EXPECT_THAT(FaultOf(Baseline("rows.parquet")),
              HasSubstr("rows.parquet: rows of Arrow or Parquet; data.format \"plain\""));
}

TEST_F(TablesTest, StateNamesFilesBesideIt) {
  data_.format = job::DataFormat::kText;
  const auto with = [&](const std::string& state) {
    directory_.Write("state.json", state);
    return FaultOf(directory_.path());
  };
  EXPECT_THAT(with(R"({"_data_files": [{"filename": "../../etc/passwd"}]})"),
              HasSubstr("expected the name of a file beside it"));
  EXPECT_THAT(with(R"({"_data_files": []})"), HasSubstr("state.json: names no _data_files"));
  EXPECT_THAT(with(R"({"_data_files": [{"filename": "no.arrow"}]})"), HasSubstr("no.arrow"));
  EXPECT_THAT(with(R"({"_data_files": [{"filename": "a"}], "_indices_data_files": [{"a": 1}]})"),
              HasSubstr("file of indices"));
  EXPECT_THAT(with("["), HasSubstr("state.json: not JSON"));
}

// In a stream that is not compressed they lie as they are; of others they are kept by the data set.
TEST_F(TablesTest, PicturesAreBytesWithinTheirRows) {
  data_.format = job::DataFormat::kCaptions;
  data_.columns = {{"text", "caption"}};
  model_.family = "blip-2";
  model_.image = job::ImageShape{.token = 280, .queries = 3};
  const std::string names[] = {"rgb.jpg", "gray.jpg", "rgba.png"};
  const auto sample = [](const std::string& name) {
    return checkout::File("tests/baselines/images/" + name);
  };
  const std::string cache = directory_.path() + "/cache";
  for (const std::string name : {"pictures", "pictures.parquet", "pictures.arrow"}) {
    SCOPED_TRACE(name);
    data_.path = Baseline(name);
    const auto dataset = LoadDataset(data_, model_, directory_.path(), 1000, cache);
    ASSERT_TRUE(dataset.ok()) << dataset.error().message;
    ASSERT_EQ(dataset->pictures.size(), 3);
    for (size_t i = 0; i < 3; ++i) {
      const images::PictureFile file = dataset->pictures[static_cast<int64_t>(i)];
      EXPECT_EQ(file.name, name == "pictures.arrow" ? kNamelessPicture : names[i]);
      EXPECT_EQ(file.path.starts_with("/proc/self/fd/"), name != "pictures");
      EXPECT_EQ(images::ReadPicture(file).value(), images::ReadPicture({sample(names[i])}).value());
    }
    EXPECT_TRUE(CheckPictures(dataset->pictures, job::OnBrokenPicture::kRefuse).ok());
  }
  data_.path = Baseline("pictures.parquet");
  const auto nowhere = LoadDataset(data_, model_, directory_.path(), 1000, "");
  EXPECT_THAT(nowhere.error().message,
              AllOf(StartsWith(data_.path + ": row group 0, row 0: pictures can't be kept"),
                    HasSubstr("there is none")));
  data_.columns = {{"text", "caption"}, {"image", "caption"}};
  EXPECT_TRUE(LoadDataset(data_, model_, directory_.path(), 1000, "").ok());  // of paths
}

// Read on several threads, a picture stays its row's.
TEST_F(TablesTest, PicturesWithinTablesAreReadOnceOnAHost) {
  data_.format = job::DataFormat::kCaptions;
  data_.columns = {{"text", "caption"}};
  model_.family = "blip-2";
  model_.image = job::ImageShape{.token = 280, .queries = 3};
  data_.path = directory_.path() + "/shards";
  fs::create_directory(data_.path);
  for (int i = 10; i < 90; ++i) {
    fs::copy_file(Baseline("pictures.parquet"),
                  data_.path + "/part-" + std::to_string(i) + ".parquet");
  }
  const std::string cache = directory_.path() + "/cache";
  const auto load = [&] { return LoadDataset(data_, model_, directory_.path(), 1000, cache); };
  const auto made = load();
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto found = load();
  ASSERT_EQ(found->pictures.size(), 240);
  for (const Dataset* dataset : {&*made, &*found}) {
    for (int64_t row = 0; row < 240; ++row) {
      const images::PictureFile file = dataset->pictures[row], first = dataset->pictures[row % 3];
      ASSERT_EQ(file.name, first.name) << row;
      ASSERT_EQ(images::ReadPicture(file).value(), images::ReadPicture(first).value()) << row;
    }
  }
  EXPECT_TRUE(fs::equivalent(made->pictures[0].path, found->pictures[0].path));
}

// Cut anywhere, a file gives its name.
TEST_F(TablesTest, ACutFileIsToldByItsName) {
  data_.format = job::DataFormat::kChat;
  for (const char* name : {"words.arrow", "large.arrow", "lz4.arrow", "views.feather",
                           "rows.parquet", "shards/data/train-00000-of-00002.parquet"}) {
    const size_t all = fs::file_size(Baseline(name));
    for (size_t size = 8; size < all; size += 37) {
      const std::string path = Changed(name, [&](std::string* bytes) { bytes->resize(size); });
      const auto dataset = Load(path);
      ASSERT_FALSE(dataset.ok()) << name << ' ' << size;
      EXPECT_EQ(dataset.error().code, base::Code::kInvalid) << dataset.error().message;
      EXPECT_THAT(dataset.error().message, StartsWith(path + ": ")) << size;
    }
  }
}

class StreamTest : public TablesTest {
 protected:
  StreamTest() { data_.format = job::DataFormat::kText; }

  // Of large.arrow, changed.
  std::string FaultOfChanged(const std::function<void(std::string*)>& change) {
    path_ = Changed("large.arrow", change);
    return FaultOf(path_);
  }

  std::string path_;
};

constexpr size_t kEndBytes = 8;  // of a stream's end

TEST_F(StreamTest, NothingLiesBehindItsEnd) {
  const std::string twice =
      FaultOfChanged([](std::string* bytes) { *bytes += std::string(*bytes); });
  EXPECT_EQ(twice, path_ + ": " + std::to_string(fs::file_size(path_) / 2) +
                       " bytes behind the end of the stream, expected none");
}

// Between two batches, too, where zeros may stand in place of the rest.
TEST_F(StreamTest, WithoutItsEndItIsCut) {
  for (const size_t zeros : {0u, 4u, 8u, 4096u}) {
    SCOPED_TRACE(zeros);
    const std::string fault = FaultOfChanged([zeros](std::string* bytes) {
      bytes->resize(bytes->size() - kEndBytes);
      bytes->append(zeros, '\0');
    });
    EXPECT_EQ(fault, path_ + ": no end of the stream behind 3 batches: the file is cut");
  }
}

TEST_F(TablesTest, DamagedPagesAreToldWithTheirRowGroup) {
  data_.format = job::DataFormat::kText;
  const std::string path = Changed("shards/data/train-00000-of-00002.parquet", [](std::string* b) {
    std::fill(b->begin() + 4, b->begin() + static_cast<std::ptrdiff_t>(b->size()) / 3, '\xAA');
  });
  EXPECT_THAT(FaultOf(path), StartsWith(path + ": row group 0: "));
  EXPECT_EQ(Load(path).error().code, base::Code::kInvalid);
}

TEST_F(TablesTest, ADamagedByteIsToldByItsPagesChecksum) {
  data_.format = job::DataFormat::kText;
  const std::string path = Changed("pages.parquet", [](std::string* bytes) {
    bytes->replace(bytes->find("end and 8"), 9, "End and 8");
  });
  EXPECT_THAT(FaultOf(path), AllOf(StartsWith(path + ": row group 0: "), HasSubstr("CRC")));
}

// In the footer, as Thrift: the column's path, its codec (none) and how many values it has.
TEST_F(TablesTest, AColumnOfFewerRowsThanItsRowGroupIsTold) {
  data_.format = job::DataFormat::kText;
  const std::string nine("\x04text\x15\x00\x16\x12", 9);
  const std::string path = Changed("pages.parquet", [&](std::string* bytes) {
    bytes->at(bytes->rfind(nine) + nine.size() - 1) = '\x06';
  });
  EXPECT_EQ(FaultOf(path), path + ": row group 0: its columns hold 3 rows, expected 9");
}

}  // namespace
}  // namespace trainctl::data
