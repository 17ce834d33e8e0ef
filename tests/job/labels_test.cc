#include "common/job/labels.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainctl::job {
namespace {

using testing::HasSubstr;

TEST(Labels, AreTheSameAfterTheirText) {
  const Labels labels = {{"rack", "r1"}, {"zone", "a:b/c"}};
  EXPECT_EQ(LabelsText(labels), "rack=r1,zone=a:b/c");
  EXPECT_EQ(ParseLabels(LabelsText(labels)).value(), labels);
  EXPECT_EQ(ParseLabels("").value(), Labels());
}

TEST(Labels, WhatIsNoneIsRefused) {
  for (const char* text : {"rack", "=r1", "rack=", "ra ck=r1", "rack=r 1", "rack=r1,,zone=b"})
    EXPECT_FALSE(ParseLabels(text)) << text;
  EXPECT_FALSE(ParseLabel("rack=" + std::string(kMaxLabelBytes + 1, 'r')));
  EXPECT_THAT(ParseLabel("rack=\x1b[2J").error().message, HasSubstr("'rack=?[2J'"));
}

TEST(Labels, AreBounded) {
  std::string text;
  for (size_t i = 0; i <= kMaxLabels; ++i) text += "k" + std::to_string(i) + "=v,";
  EXPECT_THAT(ParseLabels(text).error().message, HasSubstr("more than 32 labels"));
}

}  // namespace
}  // namespace trainctl::job
