#include "worker/rank/data/dataset.h"

#include <gmock/gmock.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "common/estimate/memory_estimate.h"
#include "tests/data/small_tokenizers.h"
#include "worker/rank/data/inspect.h"
#include "worker/rank/data/prompt.h"
#include "worker/rank/files/checkpoint_manifest.h"
#include "worker/rank/files/model_config.h"

namespace trainctl::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr int64_t kBos = 254, kEos = 255;

// Data beside a model whose tokens are the text's bytes.
class DatasetTest : public testing::Test {
 protected:
  DatasetTest() : model_(WriteByteModel(directory_)) {}

  base::Result<Dataset> Load(const std::string& content, int64_t max_seq_length = 1000) {
    data_.path = directory_.Write("data", content);
    return LoadDataset(data_, model_, directory_.path(), max_seq_length);
  }
  std::string MessageOf(const std::string& content, int64_t max_seq_length = 1000) {
    auto dataset = Load(content, max_seq_length);
    return dataset.ok() ? "accepted" : dataset.error().message;
  }
  static std::string Text(const Dataset& dataset, const Row& row) {
    std::string text;
    for (int64_t i = 0; i < row.length; ++i) {
      const int64_t token = dataset.tokens[row.begin + i];
      text += token == kBos ? "^" : token == kEos ? "$" : std::string(1, static_cast<char>(token));
    }
    return text;
  }

  ScratchDirectory directory_;
  job::ModelShape model_;
  job::DataSpec data_;
};

TEST_F(DatasetTest, AnAlpacaRowIsPromptAndOutputBetweenBosAndEos) {
  auto dataset = Load(R"([{"instruction": "Add.", "input": "1 2", "output": "3"},
                          {"instruction": "Go", "input": "", "output": "ok", "id": 5}])");
  ASSERT_TRUE(dataset.ok()) << dataset.error().message;
  ASSERT_EQ(dataset->rows.size(), 2u);
  EXPECT_EQ(Text(*dataset, dataset->rows[0]), "^" + AlpacaPrompt("Add.", "1 2") + "3$");
  EXPECT_EQ(Text(*dataset, dataset->rows[1]), "^" + AlpacaPrompt("Go", "") + "ok$");
  EXPECT_EQ(dataset->rows[0].ignored, 0);
  EXPECT_EQ(dataset->longest_row, std::max(dataset->rows[0].length, dataset->rows[1].length));
  EXPECT_EQ(dataset->total_tokens, dataset->rows[0].length + dataset->rows[1].length);
  EXPECT_EQ(dataset->tokens.size(), dataset->total_tokens);
}

// The file counts twice: for its digest, and for its tokens.
TEST_F(DatasetTest, PlainTextTellsHowFarItsTokensAre) {
  data_.format = job::DataFormat::kPlain;
  std::string text;
  while (text.size() < (size_t{5} << 20)) text += "some words of a long text\n";
  const auto bytes = static_cast<int64_t>(text.size());
  data_.path = directory_.Write("data", text);
  std::vector<int64_t> told;
  const auto progress = [&](int64_t done, int64_t total) {
    EXPECT_EQ(total, 2 * bytes);
    told.push_back(done);
  };
  const auto dataset = LoadDataset(data_, model_, directory_.path(), 1000, "", progress);
  ASSERT_TRUE(dataset.ok()) << dataset.error().message;
  EXPECT_TRUE(std::ranges::is_sorted(told));
  EXPECT_GE(
      std::ranges::count_if(told, [&](int64_t done) { return done > bytes && done < 2 * bytes; }),
      4);
  EXPECT_EQ(told.back(), 2 * bytes);
}

TEST_F(DatasetTest, FromTheCacheItIsTheSame) {
  data_.path = directory_.Write("data", R"([{"instruction": "Add.", "input": "1 2", "output": "3"},
                                               {"instruction": "Go", "output": "ok"}])");
  const std::string cache = directory_.path() + "/cache";
  data_.mask_prompt = true;
  const auto load = [&](const std::string& folder) {
    return LoadDataset(data_, model_, directory_.path(), 1000, folder).value();
  };
  const Dataset plain = load(""), made = load(cache), found = load(cache);
  for (const Dataset* dataset : {&made, &found}) {
    ASSERT_EQ(dataset->rows.size(), plain.rows.size());
    EXPECT_EQ(dataset->total_tokens, plain.total_tokens);
    EXPECT_EQ(dataset->train, plain.train);
    for (size_t i = 0; i < plain.rows.size(); ++i) {
      EXPECT_EQ(Text(*dataset, dataset->rows[i]), Text(plain, plain.rows[i]));
      EXPECT_EQ(dataset->rows[i].ignored, plain.rows[i].ignored);
    }
  }
  data_.mask_prompt = false;
  EXPECT_EQ(load(cache).rows[0].ignored, 0);
}

TEST_F(DatasetTest, MaskPromptIgnoresBosAndPrompt) {
  data_.mask_prompt = true;
  auto dataset = Load(R"([{"instruction": "Go", "output": "ok"}])");
  EXPECT_EQ(dataset->rows[0].ignored, 1 + static_cast<int64_t>(AlpacaPrompt("Go", "").size()));
}

TEST_F(DatasetTest, RowsAreTruncatedAndSoIsTheirMask) {
  data_.mask_prompt = true;
  const auto length = static_cast<int64_t>(AlpacaPrompt("Go", "").size()) + 2;
  auto dataset =
      Load(R"([{"instruction": "Go", "output": "ok"}, {"instruction": "Go on", "output": "ok"}])",
           length);
  EXPECT_EQ(Text(*dataset, dataset->rows[0]), "^" + AlpacaPrompt("Go", "") + "o");
  EXPECT_EQ(dataset->rows[0].ignored, length - 1);
  EXPECT_EQ(Text(*dataset, dataset->rows[1]),
            ("^" + AlpacaPrompt("Go on", "")).substr(0, static_cast<size_t>(length)));
  EXPECT_EQ(dataset->rows[1].ignored, length);
}

TEST_F(DatasetTest, PromptsThatFillEveryRowAreRefused) {
  data_.mask_prompt = true;
  EXPECT_THAT(MessageOf(R"([{"instruction": "Go", "output": "ok"}])", 10),
              HasSubstr("no row has a token that counts in the loss; the prompts alone, which "
                        "data.mask_prompt leaves out, fill"));
  data_.mask_prompt = false;
  EXPECT_EQ(MessageOf(R"([{"instruction": "Go", "output": "ok"}])", 10), "accepted");
}

TEST_F(DatasetTest, ATextRowStandsBetweenBosAndEos) {
  data_.format = job::DataFormat::kText;
  auto dataset = Load("{\"text\": \"e4 e5\"}\n{\"text\": \"\"}\n");
  EXPECT_EQ(Text(*dataset, dataset->rows[0]), "^e4 e5$");
  EXPECT_EQ(Text(*dataset, dataset->rows[1]), "^$");
}

TEST_F(DatasetTest, ATokenizerThatAddsNoBosAndAModelWithoutEosAreRespected) {
  data_.format = job::DataFormat::kText;
  directory_.Write("tokenizer_config.json", R"({"add_bos_token": false})");
  model_.eos_token = -1;
  auto dataset = Load(R"({"text": "ab"})");
  EXPECT_EQ(Text(*dataset, dataset->rows[0]), "ab");
  EXPECT_THAT(MessageOf("{\"text\": \"a\"}\n{\"text\": \"\"}"), HasSubstr("line 2: no tokens"));
}

TEST_F(DatasetTest, ATextThatSpellsOutBosOrEosGetsNoSecond) {
  data_.format = job::DataFormat::kText;
  directory_.Write("tokenizer_config.json", R"({"add_bos_token": true, "bos_token": "<|end|>",
                                                "eos_token": {"content": "<|end|>"}})");
  const auto ends = [](const Dataset& dataset, int64_t row) {
    int64_t count = 0;
    for (int64_t i = 0; i < dataset.rows[row].length; ++i)
      count += dataset.tokens[dataset.rows[row].begin + i] == 256;
    return count;
  };
  auto dataset = Load("{\"text\": \"a\"}\n{\"text\": \"<|end|>a<|end|>\"}\n{\"text\": \"\"}");
  for (int64_t row = 0; row < 3; ++row) EXPECT_EQ(ends(*dataset, row), 2) << row;
}

TEST_F(DatasetTest, AnotherRuleOfBosIsAnotherEntryOfTheCache) {
  data_.format = job::DataFormat::kText;
  data_.path = directory_.Write("data", R"({"text": "ab"})");
  const std::string cache = directory_.path() + "/cache";
  const auto length = [&] {
    return LoadDataset(data_, model_, directory_.path(), 8, cache)->longest_row;
  };
  EXPECT_EQ(length(), 4);
  directory_.Write("tokenizer_config.json", R"({"add_bos_token": false})");
  EXPECT_EQ(length(), 3);
}

TEST_F(DatasetTest, ReadingTellsHowManyBytesAreDone) {
  constexpr int64_t kMiB = 1 << 20;
  std::string lines, list = "[";
  for (int i = 0; i < 300; ++i) {
    const std::string row = R"({"text": ")" + std::string(10'000, 'x') + R"("})";
    lines += row + "\n";
    list += (i == 0 ? "" : ",") + row;
  }
  for (const std::string& content : {lines, list + "]"}) {
    data_.format = job::DataFormat::kText;
    data_.path = directory_.Write("data", content);
    std::vector<int64_t> told;
    auto dataset =
        LoadDataset(data_, model_, directory_.path(), 8, "", [&](int64_t done, int64_t total) {
          EXPECT_EQ(total, 2 * std::ssize(content));
          told.push_back(done);
        });
    ASSERT_TRUE(dataset.ok());
    ASSERT_GE(told.size(), 5u);
    EXPECT_TRUE(std::ranges::is_sorted(told));
    EXPECT_EQ(told.back(), 2 * std::ssize(content));
    for (size_t i = 1; i < told.size(); ++i) EXPECT_LE(told[i] - told[i - 1], 2 * kMiB);
  }
}

// Opening a FIFO would wait for its writer.
TEST_F(DatasetTest, FifosAndFoldersInPlaceOfFilesAreRefusedAtOnce) {
  const auto replace = [&](const std::string& name, bool fifo) {
    const std::string path = directory_.path() + "/" + name;
    std::filesystem::remove_all(path);
    fifo ? mkfifo(path.c_str(), 0600) : mkdir(path.c_str(), 0700);
    return path;
  };
  for (const bool fifo : {true, false}) {
    const std::string kind =
        fifo ? " is a FIFO, expected a regular file" : " is a directory, expected a regular file";
    EXPECT_THAT(
        LoadDataset({.path = replace("data", fifo)}, model_, directory_.path(), 8).error().message,
        HasSubstr("/data" + kind));
    std::filesystem::remove_all(directory_.path() + "/data");
    for (const char* name : {"tokenizer_config.json", "tokenizer.json"}) {
      replace(name, fifo);
      EXPECT_THAT(MessageOf(R"([{"instruction": "a", "output": "b"}])"), HasSubstr(name + kind));
    }
    replace("config.json", fifo);
    const auto config = files::ReadModelConfig(directory_.path());
    EXPECT_THAT(config.error().message, HasSubstr("config.json" + kind));
    for (const char* name : {"tokenizer_config.json", "tokenizer.json", "config.json"})
      std::filesystem::remove_all(directory_.path() + "/" + name);
    WriteByteModel(directory_);
  }
}

TEST_F(DatasetTest, PlainTextIsCutIntoRows) {
  data_.format = job::DataFormat::kPlain;
  auto dataset = Load("abcdefgh", 3);
  ASSERT_EQ(dataset->rows.size(), 3u);
  EXPECT_EQ(Text(*dataset, dataset->rows[1]), "def");
  EXPECT_EQ(Text(*dataset, dataset->rows[2]), "gh");
}

TEST_F(DatasetTest, ARestOfOneTokenIsDropped) {
  data_.format = job::DataFormat::kPlain;
  auto dataset = Load("abcdefg", 3);
  EXPECT_EQ(dataset->rows.size(), 2u);
  EXPECT_EQ(dataset->total_tokens, 6);
}

TEST_F(DatasetTest, TokenFilesNeedNoTokenizer) {
  data_.format = job::DataFormat::kBin;
  std::filesystem::remove(directory_.path() + "/tokenizer.json");
  auto dataset = Load(std::string("\x01\x00\x02\x00\x2B\x01\x04\x00", 8), 2);
  ASSERT_TRUE(dataset.ok()) << dataset.error().message;
  ASSERT_EQ(dataset->rows.size(), 2u);
  EXPECT_EQ(dataset->tokens[dataset->rows[1].begin], 299);
  EXPECT_THAT(MessageOf(std::string("\x01\x00\x2C\x01", 4)),
              HasSubstr("token 1 is 300, beyond the model's vocabulary of 300"));
}

TEST_F(DatasetTest, TokensAndTextMayBeginAsATableDoes) {
  data_.format = job::DataFormat::kBin;
  model_.vocab = 1 << 16;
  EXPECT_EQ(Load(std::string("\xFF\xFF\xFF\xFF\x02\x00\x03\x00", 8), 2)->rows.size(), 2u);
  EXPECT_EQ(Load("PAR1abcd", 2)->tokens[0], 'P' + 256 * 'A');
  data_.format = job::DataFormat::kPlain;
  EXPECT_EQ(Load("PAR1 is the magic of Parquet", 8)->rows.size(), 4u);
  data_.format = job::DataFormat::kText;
  EXPECT_THAT(MessageOf("PAR1"), HasSubstr("Parquet"));
}

TEST_F(DatasetTest, WithoutATokenizerOtherFormatsSayWhatToDo) {
  std::filesystem::remove(directory_.path() + "/tokenizer.json");
  EXPECT_THAT(MessageOf("[]"), HasSubstr("without a tokenizer only data.format \"bin\""));
}

TEST_F(DatasetTest, MaxRowsKeepsTheFirst) {
  data_.format = job::DataFormat::kText;
  data_.max_rows = 2;
  EXPECT_EQ(Load("{\"text\": \"a\"}\n{\"text\": \"b\"}\n{\"text\": \"c\"}")->rows.size(), 2u);
  data_.format = job::DataFormat::kPlain;
  EXPECT_EQ(Load("abcdefgh", 2)->rows.size(), 2u);
}

TEST_F(DatasetTest, TheSplitIsByShareAndSeed) {
  data_.format = job::DataFormat::kPlain;
  data_.val_split_fraction = 0.25;
  const std::string content(80, 'x');
  auto dataset = Load(content, 2);
  EXPECT_EQ(dataset->val.size(), 10u);
  EXPECT_EQ(dataset->train.size(), 30u);
  std::vector<int64_t> all = dataset->train;
  all.insert(all.end(), dataset->val.begin(), dataset->val.end());
  std::sort(all.begin(), all.end());
  for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(all[i], i);
  EXPECT_TRUE(std::is_sorted(dataset->val.begin(), dataset->val.end()));
  EXPECT_EQ(Load(content, 2)->val, dataset->val);
  data_.seed = 43;
  EXPECT_NE(Load(content, 2)->val, dataset->val);
}

TEST_F(DatasetTest, ATokenBeyondTheVocabularyIsNamedWithItsRow) {
  model_.vocab = 256;
  EXPECT_THAT(
      MessageOf(
          R"([{"instruction": "a", "output": "b"}, {"instruction": "a", "output": "x<|end|>"}])"),
      HasSubstr("[1]: token 256 ('<|end|>') is beyond the model's vocabulary of 256"));
  data_.format = job::DataFormat::kPlain;
  EXPECT_THAT(MessageOf("x<|end|>"), HasSubstr("token 256"));
}

TEST_F(DatasetTest, BadRowsAreNamed) {
  EXPECT_THAT(MessageOf(R"([{"instruction": "a"}])"), HasSubstr("data: [0].output: missing"));
  EXPECT_THAT(MessageOf(R"([{"instruction": "a", "input": 3, "output": "b"}])"),
              HasSubstr("[0].input: 3"));
  EXPECT_THAT(MessageOf("[]"), HasSubstr("no rows"));
}

TEST_F(DatasetTest, AMissingFileIsNotFound) {
  data_.path = directory_.path() + "/nothing";
  EXPECT_EQ(LoadDataset(data_, model_, directory_.path(), 8).error().code, base::Code::kNotFound);
}

TEST_F(DatasetTest, EqualDigestsAreEqualBytes) {
  data_.format = job::DataFormat::kPlain;
  EXPECT_EQ(Load("same")->digest, Load("same")->digest);
  EXPECT_NE(Load("same")->digest, Load("sane")->digest);
}

TEST_F(DatasetTest, InspectSaysWhatModelAndDataHold) {
  job::JobSpec job;
  job.model.path = directory_.path();
  job.data.path = directory_.Write("data", "{\"text\": \"abc\"}\n{\"text\": \"abcdefgh\"}");
  job.data.format = job::DataFormat::kText;
  job.train.max_seq_length = 8;
  auto inspection = Inspect(job);
  ASSERT_TRUE(inspection.ok()) << inspection.error().message;
  EXPECT_EQ(inspection->model.vocab, 300);
  EXPECT_EQ(inspection->rows, 2);
  EXPECT_EQ(inspection->longest_row, 8);
  EXPECT_EQ(inspection->total_tokens, 5 + 8);
  EXPECT_EQ(inspection->packed_sequences, 2);
  EXPECT_EQ(inspection->longest_sequence, 8);
  EXPECT_THAT(inspection->data_digest, HasSubstr("xxh64:"));
  EXPECT_THAT(inspection->tokenizer_digest, HasSubstr("xxh64:"));
  job.model.path = "/nowhere";
  EXPECT_EQ(Inspect(job).error().code, base::Code::kNotFound);
}

TEST_F(DatasetTest, InspectNamesAllPathsThatAreNotThere) {
  job::JobSpec job;
  job.model.path = "/nowhere/model";
  job.data.path = "/nowhere/rows.json";
  job.data.val_path = directory_.Write("val", "{\"text\": \"abc\"}");
  const auto inspection = Inspect(job);
  ASSERT_FALSE(inspection.ok());
  EXPECT_EQ(inspection.error().code, base::Code::kNotFound);
  EXPECT_EQ(inspection.error().message,
            "2 paths are not there: model.path /nowhere/model, data.path /nowhere/rows.json");
}

TEST_F(DatasetTest, InspectRefusesPicturesOfAModelOfWordsBeforeItReadsThem) {
  job::JobSpec job;
  job.model.path = directory_.path();
  job.train.max_steps = 0;
  job.eval.prompts = {std::string(1, '\xff'), "b"};
  job.eval.images = {"/nowhere/x.png", "/nowhere/y.png"};
  const auto inspection = Inspect(job);
  ASSERT_FALSE(inspection.ok());
  EXPECT_EQ(inspection.error().code, base::Code::kInvalid);
  EXPECT_THAT(inspection.error().message, HasSubstr("eval.images: expected none: "));
  EXPECT_THAT(inspection.error().message, HasSubstr("which takes no pictures"));
}

TEST_F(DatasetTest, InspectCountsRowsThatAreCutAndRowsThatTrainNothing) {
  job::JobSpec job;
  job.model.path = directory_.path();
  job.data.path = directory_.Write("data", R"([{"instruction": "a", "output": "b"},
      {"instruction": "a longer one, of more words", "output": "b"}])");
  job.data.format = job::DataFormat::kAlpaca;
  job.data.mask_prompt = true;
  job.train.max_seq_length = 4096;
  auto inspection = Inspect(job);
  ASSERT_TRUE(inspection.ok()) << inspection.error().message;
  EXPECT_EQ(inspection->full_rows, 0);
  EXPECT_EQ(inspection->untrained_rows, 0);
  const int64_t longest = inspection->longest_row;
  job.train.max_seq_length = longest - 1;
  inspection = Inspect(job);
  ASSERT_TRUE(inspection.ok()) << inspection.error().message;
  EXPECT_EQ(inspection->full_rows, 1);
  EXPECT_EQ(inspection->untrained_rows, 0);
  job.train.max_seq_length = longest - 2;  // without its answer, of one token
  inspection = Inspect(job);
  ASSERT_TRUE(inspection.ok()) << inspection.error().message;
  EXPECT_EQ(inspection->full_rows, 1);
  EXPECT_EQ(inspection->untrained_rows, 1);
  // One text has no rows of its own that could be cut.
  job.data.format = job::DataFormat::kPlain;
  job.train.max_seq_length = 8;
  EXPECT_EQ(Inspect(job)->full_rows, 0);
}

TEST_F(DatasetTest, InspectRefusesBrokenWeightsButNotMissingOnes) {
  job::JobSpec job;
  job.model.path = directory_.path();
  job.data.path = directory_.Write("data", "{\"text\": \"abc\"}");
  job.data.format = job::DataFormat::kText;
  directory_.Write("model.safetensors", "version https://git-lfs.github.com/spec/v1\noid sha256:1");
  const auto broken = Inspect(job);
  ASSERT_FALSE(broken.ok());
  EXPECT_EQ(broken.error().message, "model.path: " + directory_.path() +
                                        "/model.safetensors: a pointer of Git LFS in place of the "
                                        "file: git lfs pull");
  job.model.init = job::ModelInit::kRandom;
  ASSERT_TRUE(Inspect(job).ok());
  EXPECT_EQ(Inspect(job)->missing_weights, "");
  job.model.init = job::ModelInit::kPretrained;
  std::filesystem::remove(directory_.path() + "/model.safetensors");
  const auto none = Inspect(job);
  ASSERT_TRUE(none.ok()) << "a prediction needs no weights";
  EXPECT_THAT(none->missing_weights, HasSubstr("no weights in '" + directory_.path() + "'"));
  directory_.Write("model.safetensors.index.json",
                   R"({"weight_map": {"a": "model-1.safetensors"}})");
  EXPECT_THAT(Inspect(job).error().message, HasSubstr("model-1.safetensors"));
}

TEST_F(DatasetTest, InspectSaysAtWhichStepTheJobGoesOn) {
  job::JobSpec job;
  job.name = "tiny";
  job.train.micro_batch_size = 1;
  job.model.path = directory_.path();
  job.data.path = directory_.Write("data", "{\"text\": \"abc\"}");
  job.data.format = job::DataFormat::kText;
  job.checkpoint.resume_from = directory_.path() + "/out";
  const auto none = Inspect(job);
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.error().code, base::Code::kInvalid);
  EXPECT_THAT(none.error().message, HasSubstr("checkpoint.resume_from: no folder"));
  for (const int64_t step : {4, 6}) {
    files::CheckpointManifest manifest{.step = step, .total_steps = 9, .written_at = step};
    manifest.job = job;
    const std::string folder = "out/checkpoints/step-" + std::to_string(step);
    std::filesystem::create_directories(directory_.path() + "/" + folder);
    directory_.Write(folder + "/manifest.json", files::ToJson(manifest));
  }
  const auto inspection = Inspect(job);
  ASSERT_TRUE(inspection.ok()) << inspection.error().message;
  EXPECT_EQ(inspection->resume_step, 6);
  EXPECT_EQ(inspection->missing_weights, "") << "the checkpoint brings them";
  EXPECT_EQ(job::InspectionFromJson(job::ToJson(*inspection))->resume_step, 6);
}

}  // namespace
}  // namespace trainctl::data
