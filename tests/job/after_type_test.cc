#include "common/job/after_type.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace trainctl::job {
namespace {

using testing::Optional;
using testing::SizeIs;
using Value = AfterType::Value;

std::optional<Value> ReadAfter(const JsonNode& node) { return AfterType().Read(node); }

JsonNode Object(const std::string& id, const std::string& how) {
  return JsonNode::Object().Add(id, how);
}

TEST(AfterType, ReadsAnObjectATextAndNull) {
  const Value two = {{"j12", After::kOk}, {"j13", After::kAny}};
  EXPECT_EQ(ReadAfter(JsonNode::Object().Add("j12", "ok").Add("j13", "any")), two);
  EXPECT_EQ(ReadAfter("j12,j13:any"), two);
  EXPECT_EQ(ReadAfter("j12:ok,j13:any"), two);
  EXPECT_EQ(ReadAfter(JsonNode()), Value());
  EXPECT_EQ(ReadAfter(JsonNode::Object()), Value());
}

TEST(AfterType, ANameMayHaveColons) {
  EXPECT_EQ(ReadAfter("a:b"), (Value{{"a:b", After::kOk}}));
  EXPECT_EQ(ReadAfter("a:b:any"), (Value{{"a:b", After::kAny}}));
}

TEST(AfterType, RefusesWhatNamesNoJobOrNoEnd) {
  EXPECT_EQ(ReadAfter(""), std::nullopt);
  EXPECT_EQ(ReadAfter(",j1"), std::nullopt);
  EXPECT_EQ(ReadAfter("j1,"), std::nullopt);
  EXPECT_EQ(ReadAfter(":any"), std::nullopt);
  EXPECT_EQ(ReadAfter("j1,j1:any"), std::nullopt) << "which of the two?";
  EXPECT_EQ(ReadAfter(Object("j1", "failed")), std::nullopt);
  EXPECT_EQ(ReadAfter(Object("", "ok")), std::nullopt);
  EXPECT_EQ(ReadAfter(Object(std::string(129, 'j'), "ok")), std::nullopt);
  EXPECT_EQ(ReadAfter(int64_t{12}), std::nullopt);
}

TEST(AfterType, NamesAtMost64Jobs) {
  std::string text = "j1";
  for (int job = 2; job <= 64; ++job) text += ",j" + std::to_string(job);
  EXPECT_THAT(ReadAfter(text), Optional(SizeIs(64)));
  EXPECT_EQ(ReadAfter(text + ",j65"), std::nullopt);
}

TEST(AfterType, GivesBackWhatItWrote) {
  for (const Value& value :
       {Value(), Value{{"j1", After::kOk}}, Value{{"a", After::kAny}, {"b", After::kOk}}})
    EXPECT_EQ(ReadAfter(AfterType().Write(value)), value);
}

}  // namespace
}  // namespace trainctl::job
