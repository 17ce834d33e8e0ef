#include "client/show/escaping.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/show/text_table.h"
#include "common/job/check_job.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

using Kind = EscapingBuffer::Kind;

std::string Written(Kind kind, const std::vector<std::string>& pieces) {
  std::ostringstream target;
  {
    EscapingStream stream(&target, kind);
    for (const std::string& piece : pieces) stream << piece << std::flush;
  }
  return target.str();
}

const std::string kHostile = "a\x1b[31mred\x07\r\u009b2J\u202e\u2066\u2028b\x7f\u200f é 深 \t\n";
const std::string kShown =
    "a\\u001b[31mred\\u0007\\u000d\\u009b2J\\u202e\\u2066\\u2028b\\u007f\\u200f é 深 \t\n";

TEST(EscapingTest, WhatATerminalObeysIsShown) {
  EXPECT_EQ(Escaped(kHostile), kShown);
  EXPECT_EQ(Written(Kind::kOwn, {kHostile}), kShown);
}

TEST(EscapingTest, ASequenceThatIsCutByTheWritesIsShownAsWell) {
  std::vector<std::string> bytes;
  for (const char c : kHostile) bytes.emplace_back(1, c);
  EXPECT_EQ(Written(Kind::kOwn, bytes), kShown);
}

TEST(EscapingTest, OurOwnStylesPassAndNoOtherMarkedSequence) {
  EXPECT_EQ(Written(Kind::kOwn, {Styled("bad\x1b[2J", Style::kBad, true)}),
            "\x1b[31mbad\\u001b[2J\x1b[0m");
  EXPECT_EQ(Written(Kind::kOwn, {"\xff]0;title\x07", "\xff"}), "\uFFFD]0;title\\u0007\uFFFD");
}

TEST(EscapingTest, ALogKeepsItsColoursAndProgressBarsButDoesNotSteerTheTerminal) {
  EXPECT_EQ(Written(Kind::kLog, {"\x1b[1;31mred\x1b", "[0m 5%\r6%\n"}),
            "\x1b[1;31mred\x1b[0m 5%\r6%\n");
  EXPECT_EQ(Written(Kind::kLog, {"\x1b]0;title\x07\x1b[2J\x1b[", "12;3H\x1b["}),
            "\\u001b]0;title\\u0007\\u001b[2J\\u001b[12;3H\\u001b[");
}

TEST(EscapingTest, ATableIsAlignedByWhatItShows) {
  TextTable table({{"A"}, {"B"}});
  table.AddRow({"\x1b", "x"});
  table.AddRow({"123456", "y"});
  EXPECT_EQ(table.Render({}), "A       B\n\\u001b  x\n123456  y\n");
}

class EscapedOutputTest : public ClientTest {};

TEST_F(EscapedOutputTest, NamesOfOthersReachNoTerminalAsTheyAre) {
  coordinator_.jobs = {RunningJob("j1", "evil\x1b]0;owned\x07\u202e")};
  coordinator_.jobs[0].set_reason("\x1b[2J");
  for (const char* format : {"table", "json", "jsonl", "csv", "md", "name"}) {
    const Ended ended = Trainctl({"status", "-o", format});
    EXPECT_EQ(ended.out.find_first_of("\x1b\x07"), std::string::npos) << ended.out;
    EXPECT_EQ(ended.out.find("\u202e"), std::string::npos) << ended.out;
  }
  const Json json = Json::parse(Trainctl({"status", "-o", "json"}).out);
  EXPECT_EQ(json["jobs"][0]["name"], "evil\x1b]0;owned\x07\u202e");
  const Ended missing = Trainctl({"status", "\x1b[2J"});
  EXPECT_EQ(missing.err.find('\x1b'), std::string::npos) << missing.err;
}

TEST_F(EscapedOutputTest, ALogIsGivenToAProgramAsItIsAndToATerminalEscaped) {
  coordinator_.jobs = {FinishedJob("j1", "tiny", "SUCCEEDED")};
  coordinator_.log.emplace_back().set_data("\x1b[32mok\x1b[0m\x1b[2J\n");
  EXPECT_EQ(Trainctl({"logs", "j1", "--rank", "0"}).out, "\x1b[32mok\x1b[0m\x1b[2J\n");
  surroundings_.out_terminal.is_terminal = true;
  EXPECT_EQ(Trainctl({"logs", "j1", "--rank", "0"}).out, "\x1b[32mok\x1b[0m\\u001b[2J\n");
}

TEST(NamesTest, WhatCantBeANameIsRefused) {
  for (const char* name :
       {"-o", "--", ".", "..", "a\x1b", "a\u009b", "a\u202e", "a\u2028", "a/b", "j1", "a\xff", ""})
    EXPECT_FALSE(job::IsUsableName(name)) << name;
  for (const char* name : {"a-o", ".a", "a b", "é", "深"})
    EXPECT_TRUE(job::IsUsableName(name)) << name;
}

}  // namespace
}  // namespace trainctl::client
