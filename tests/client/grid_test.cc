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

}  // namespace
}  // namespace trainctl::client
