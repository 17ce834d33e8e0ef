#include "common/base/ids.h"

#include <gtest/gtest.h>

namespace trainctl::base {
namespace {

TEST(Ids, JobsAreJAndTheNumber) { EXPECT_EQ(ToString(JobId{12}), "j12"); }

TEST(Ids, GroupsAreGAndTheNumber) { EXPECT_EQ(ToString(GroupId{3}), "g3"); }

TEST(Ids, WhatWasWrittenIsReadBack) {
  for (const int64_t value : {int64_t{1}, int64_t{9}, int64_t{10}, INT64_MAX}) {
    EXPECT_EQ(ParseJobId(ToString(JobId{value})), JobId{value});
    EXPECT_EQ(ParseGroupId(ToString(GroupId{value})), GroupId{value});
  }
}

TEST(Ids, OnlyTheExactSpellingIsAnId) {
  for (const char* text : {"", "j", "j0", "j01", "j-1", "j+1", "j 1", "j1 ", "J1", "j1x", "1", "g1",
                           "j9223372036854775808"}) {
    EXPECT_EQ(ParseJobId(text), std::nullopt) << text;
  }
  EXPECT_EQ(ParseGroupId("j1"), std::nullopt);
}

TEST(Ids, ZeroIsNone) {
  EXPECT_FALSE(JobId{});
  EXPECT_TRUE(JobId{1});
}

}  // namespace
}  // namespace trainctl::base
