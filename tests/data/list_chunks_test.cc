#include "worker/rank/data/list_chunks.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace trainctl::data {
namespace {

struct Read {
  std::vector<std::string> texts;
  std::string fault;
  int64_t chunks = 0;
  bool operator==(const Read&) const = default;
};

Read InChunks(const std::string& text, size_t chunk_bytes) {
  Read read;
  const auto take = [&](const files::JsonObject& row) -> base::Status {
    read.texts.push_back(row.Text("text"));
    return base::Ok{};
  };
  int64_t done = 0;
  CutJsonList(
      text, "d.json",
      [&](const RowChunk& chunk) {
        EXPECT_GE(chunk.done_bytes, done);
        done = chunk.done_bytes;
        ++read.chunks;
        const base::Status status = chunk.read(take);
        if (!status) read.fault = status.error().message;
        return status.ok();
      },
      chunk_bytes);
  return read;
}

// As one list.
Read AtOnce(const std::string& text) {
  Read read;
  const auto take = [&](const files::JsonObject& row) -> base::Status {
    read.texts.push_back(row.Text("text"));
    return base::Ok{};
  };
  const auto rows = ReadJsonRows(text, "d.json", std::nullopt, take);
  if (!rows) read.fault = rows.error().message;
  return read;
}

const std::string kList = R"( [{"text": "a, ]} b"}, {"text": "\\", "more": [1, {"x": "]"}, []]},
  {"text": "\""} ,{"text":"quote \\\" ,["},{"text": ""}] )";

TEST(CutJsonList, ElementsAreThoseOfTheWholeListInChunksOfAnySize) {
  const Read whole = AtOnce(kList);
  EXPECT_EQ(whole.texts.size(), 5u);
  EXPECT_EQ(whole.fault, "");
  for (size_t bytes = 1; bytes <= kList.size(); ++bytes) {
    const Read read = InChunks(kList, bytes);
    EXPECT_EQ(read.texts, whole.texts) << bytes;
    EXPECT_EQ(read.fault, "") << bytes;
  }
  EXPECT_EQ(InChunks(kList, 1).chunks, 5);
  EXPECT_EQ(InChunks("[ ]", 1).chunks, 0);
  EXPECT_EQ(InChunks("\xEF\xBB\xBF[{\"text\": \"x\"}]", 1).texts.size(), 1u);
}

// Rows before the fault may be given once more or less; what is said is the same.
TEST(CutJsonList, AnyCutOrChangedByteIsToldAsOfTheWholeList) {
  for (size_t at = 2; at < kList.size(); ++at) {
    for (const std::string& text :
         {kList.substr(0, at), kList.substr(0, at) + "]" + kList.substr(at + 1),
          kList.substr(0, at) + "\"" + kList.substr(at + 1),
          kList.substr(0, at) + "," + kList.substr(at + 1)}) {
      const Read whole = AtOnce(text);
      for (const size_t bytes : {1, 20, 1000}) {
        const Read read = InChunks(text, bytes);
        EXPECT_EQ(read.fault, whole.fault) << text;
        if (whole.fault.empty()) {
          EXPECT_EQ(read.texts, whole.texts) << text;
        }
      }
    }
  }
}

TEST(CutJsonList, ARowsOwnFaultComesBeforeWhatIsBrokenBehindIt) {
  EXPECT_EQ(InChunks(R"([{"text": "a"}, {"text": 7}, {{])", 1000).fault,
            "d.json: [1].text: 7: expected a string");
  EXPECT_EQ(InChunks(R"([{"text": "a"}, 3])", 1).fault, AtOnce(R"([{"text": "a"}, 3])").fault);
}

}  // namespace
}  // namespace trainctl::data
