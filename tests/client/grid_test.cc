#include "client/top/grid.h"

#include <gtest/gtest.h>

#include "client/show/format.h"

namespace trainctl::client {
namespace {

TEST(TopGrid, WhatIsWantedLeastGoesFirstAndLongTextsAreCut) {
  RowGrid grid({{.header = "ID"},
                {.header = "NAME", .least = 4, .cut = true},
                {.header = "EXTRA", .goes = 2},
                {.header = "MORE", .goes = 1}});
  grid.AddRow({"j1", "a-long-name", "extra", "more"});
  const auto row = [&](int width) { return grid.Lines({.width = width})[1]; };
  EXPECT_EQ(row(0), "j1  a-long-name  extra  more");
  EXPECT_EQ(row(24), "j1  a-long…  extra  more");
  EXPECT_EQ(row(20), "j1  a-long-na…  more");
  EXPECT_EQ(row(13), "j1  a-long-n…");
  EXPECT_EQ(row(6), "j1  a…");
}

TEST(TopGrid, ColumnsStandBelowEachOtherBehindWideCharactersAndMarks) {
  RowGrid grid({{.header = "ID"},
                {.header = "NAME", .least = 4, .cut = true},
                {.header = "LEFT", .right = true}});
  for (const char* name : {"plain", "日本語モデル", "e\u0301mile", "👩\u200d💻 at work"})
    grid.AddRow({"j1", name, "7"});
  const std::vector<std::string> whole = {"ID  NAME          LEFT", "j1  plain            7",
                                          "j1  日本語モデル     7", "j1  e\u0301mile            7",
                                          "j1  👩\u200d💻 at work       7"};
  EXPECT_EQ(grid.Lines({.width = 0}), whole);
  for (const int width : {24, 17, 16, 15, 13}) {
    const std::vector<std::string> lines = grid.Lines({.width = width});
    for (const std::string& line : lines)
      EXPECT_EQ(DisplayWidth(line), DisplayWidth(lines.front())) << width << "\n" << line;
  }
}

}  // namespace
}  // namespace trainctl::client
