#include "worker/shim/line_fields.h"

#include <gtest/gtest.h>

#include <vector>

#include "worker/shim/line_buffer.h"

namespace trainctl::shim {
namespace {

TEST(LineFields, FindsTheTypeWhereverItStands) {
  EXPECT_TRUE(HasType(R"({"type":"metrics"})", "metrics"));
  EXPECT_TRUE(HasType(R"({"points":[{"name":"type"}], "type" : "metrics"})", "metrics"));
  EXPECT_FALSE(HasType(R"({"type":"metrics2"})", "metrics"));
  EXPECT_FALSE(HasType(R"({"message":"\"type\":\"metrics\"","type":"outcome"})", "metrics"));
  EXPECT_FALSE(HasType("", "metrics"));
}

TEST(LineFields, ReadsNumbers) {
  EXPECT_EQ(NumberField(R"({"grace_seconds": 2.5})", "grace_seconds"), 2.5);
  EXPECT_EQ(NumberField(R"({"grace_seconds":"x"})", "grace_seconds"), std::nullopt);
  EXPECT_EQ(NumberField("{}", "grace_seconds"), std::nullopt);
}

TEST(LineFields, QuotesForJson) { EXPECT_EQ(Quoted("a\"b\\c\nd"), R"("a\"b\\c\u000ad")"); }

TEST(LineBuffer, JoinsPartsAndSkipsLinesThatAreTooLong) {
  LineBuffer buffer(5);
  std::vector<std::string> lines;
  const auto take = [&](std::string_view line) { lines.emplace_back(line); };
  for (const char* part : {"ab", "c\n12345\n123456", "78\n", "\nend"}) buffer.Append(part, take);
  EXPECT_EQ(lines, (std::vector<std::string>{"abc", "12345", ""}));
  EXPECT_EQ(buffer.skipped(), 1);
}

}  // namespace
}  // namespace trainctl::shim
