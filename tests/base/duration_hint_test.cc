#include "common/base/duration_hint.h"

#include <gtest/gtest.h>

namespace trainctl::base {
namespace {

TEST(DurationHint, OtherNamesOfUnitsAreKnown) {
  EXPECT_EQ(DurationHint("10m"), "did you mean '10min'?");
  EXPECT_EQ(DurationHint("2 hours 30 minutes"), "did you mean '2h30min'?");
  EXPECT_EQ(DurationHint("1H"), "did you mean '1h'?");
  EXPECT_EQ(DurationHint("90sec"), "did you mean '90s'?");
}

TEST(DurationHint, WhatIsATimeOrNoneHasNone) {
  for (const char* text : {"", "10", "soon", "10min", "0s", "0m", "5 weeks", "1.5h", "10ms"})
    EXPECT_EQ(DurationHint(text), "") << text;
}

}  // namespace
}  // namespace trainctl::base
