#include "worker/rank/data/row_pipeline.h"

#include <gmock/gmock.h>

#include "tests/data/small_tokenizers.h"
#include "worker/rank/data/row_lines.h"
#include "worker/rank/tokenizer/tokenizer.h"

namespace trainctl::data {
namespace {

using testing::HasSubstr;

struct Made {
  std::string text;  // of all rows; bos and eos are its first and last byte
  std::vector<int64_t> lengths;
  std::string error;
  std::vector<int64_t> done;  // that was told
  bool operator==(const Made&) const = default;
};

// Lines of {"text"} beside a tokenizer whose tokens are the text's bytes.
class RowPipelineTest : public testing::Test {
 protected:
  RowPipelineTest()
      : model_(WriteByteModel(directory_)),
        tokenizer_(LoadTokenizer(directory_.path()).value()),
        boundary_(ReadBoundaryTokens(*tokenizer_, model_, directory_.path()).value()),
        read_(RowReaderOf(data_, *tokenizer_, boundary_, directory_.path()).value()) {}

  static job::DataSpec TextData() {
    job::DataSpec data;
    data.format = job::DataFormat::kText;
    return data;
  }
  static std::string Lines(int count) {
    std::string text;
    for (int i = 0; i < count; ++i)
      text += "{\"text\": \"row " + std::to_string(i) + std::string(i % 7, '.') + "\"}\n";
    return text;
  }

  Made Read(const std::string& text, int threads, size_t chunk_bytes, int64_t most = INT64_MAX) {
    Made made;
    RowCollector rows(*tokenizer_, boundary_, model_.vocab, 1000);
    const auto lines = OpenRowLines(text, source_).value();
    RowPipeline pipeline(read_, &rows,
                         {.most_rows = most, .threads = threads, .progress = [&](int64_t bytes) {
                            made.done.push_back(bytes);
                          }});
    CutLines(
        *lines, source_, [&](RowChunk chunk) { return pipeline.Put(std::move(chunk)); },
        chunk_bytes);
    if (const auto finished = pipeline.Finish(); !finished) made.error = finished.error().message;
    auto taken = rows.Take();
    const Tokenized tokens = std::move(*taken);
    for (const Row& row : tokens.rows) {
      made.lengths.push_back(row.length);
      for (int64_t i = 0; i < row.length; ++i)
        made.text += static_cast<char>(tokens.tokens[row.begin + i]);
    }
    return made;
  }

  const std::string source_ = "d.jsonl";
  ScratchDirectory directory_;
  job::ModelShape model_;
  job::DataSpec data_ = TextData();
  std::unique_ptr<Tokenizer> tokenizer_;
  BoundaryTokens boundary_;
  ReadRow read_;
};

TEST_F(RowPipelineTest, ThreadsMakeOfChunksWhatOneMakesOfTheWhole) {
  const std::string text = Lines(500) + "\n" + R"({"text": "without an end"})";
  const Made whole = Read(text, 1, text.size());
  ASSERT_EQ(whole.lengths.size(), 501u);
  EXPECT_EQ(whole.done, std::vector<int64_t>{std::ssize(text)});
  for (const int threads : {1, 2, 5}) {
    for (const size_t chunk_bytes : {1, 30, 1000}) {
      Made parts = Read(text, threads, chunk_bytes);
      EXPECT_TRUE(std::ranges::is_sorted(parts.done));
      EXPECT_EQ(parts.done.back(), std::ssize(text));
      parts.done = whole.done;
      EXPECT_EQ(parts, whole) << threads << " threads, chunks of " << chunk_bytes;
    }
  }
}

TEST_F(RowPipelineTest, MostRowsAreTheFirstOnesWhateverFollows) {
  const std::string text = Lines(200) + "no JSON\n" + Lines(50);
  const Made expected = Read(Lines(190), 1, 1 << 20);
  for (const int threads : {1, 4}) {
    const Made made = Read(text, threads, 100, 190);
    EXPECT_EQ(made.error, "");
    EXPECT_EQ(made.lengths, expected.lengths);
    EXPECT_EQ(made.text, expected.text);
    EXPECT_EQ(Read(text, threads, 1 << 20, 200).lengths.size(), 200u);
  }
}

TEST_F(RowPipelineTest, TheFirstFaultIsToldWithItsLineInTheFile) {
  const std::string text = Lines(200) + "\n{\"text\": 5}\n" + Lines(50) + "no JSON\n" + Lines(50);
  for (const int threads : {1, 4}) {
    for (const size_t chunk_bytes : {1, 100, 1 << 20}) {
      const Made made = Read(text, threads, chunk_bytes);
      EXPECT_EQ(made.error, "d.jsonl: line 202.text: 5: expected a string");
      EXPECT_EQ(made.lengths.size(), 200u);
      EXPECT_THAT(Read(text, threads, chunk_bytes, 201).error, HasSubstr("line 202"));
    }
  }
}

TEST_F(RowPipelineTest, NoLinesAreNoRows) {
  for (const int threads : {1, 3}) {
    EXPECT_EQ(Read("", threads, 10), Made{});
    EXPECT_EQ(Read("\xEF\xBB\xBF", threads, 10), Made{});
    EXPECT_EQ(Read("\n\n\n", threads, 1).lengths.size(), 0u);
  }
}

}  // namespace
}  // namespace trainctl::data
