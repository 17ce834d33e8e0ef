#include "client/show/output.h"

#include <gtest/gtest.h>

namespace trainctl::client {
namespace {

Listing TwoThings() {
  Listing listing{.collection = "things", .table = TextTable({{"ID"}, {"SIZE", true}, {"WHY"}})};
  listing.records = {{{"id", "a"}, {"size", 1}, {"why", "said \"so\", twice"}},
                     {{"id", "b"}, {"size", nullptr}, {"tags", {"x", "y"}}}};
  listing.table.AddRow({"a", "1", "said \"so\", twice"});
  listing.table.AddRow({"b", "1,000", "x | y"});
  return listing;
}

TEST(Output, JsonIsOneDocumentThatStartsWithTheSchema) {
  const std::string text = Render(TwoThings(), OutputFormat::kJson, {});
  EXPECT_EQ(text.find("{\n  \"schema\": \"trainctl/v1\",\n  \"things\""), 0u) << text;
  EXPECT_EQ(Json::parse(text)["things"][1]["tags"][0], "x");
}

TEST(Output, JsonlIsOneRecordALine) {
  EXPECT_EQ(Render(TwoThings(), OutputFormat::kJsonl, {}),
            "{\"id\":\"a\",\"size\":1,\"why\":\"said \\\"so\\\", twice\"}\n"
            "{\"id\":\"b\",\"size\":null,\"tags\":[\"x\",\"y\"]}\n");
}

TEST(Output, CsvQuotesAndLeavesNullEmptyAndKnowsAllKeys) {
  EXPECT_EQ(Render(TwoThings(), OutputFormat::kCsv, {}),
            "id,size,why,tags\n"
            "a,1,\"said \"\"so\"\", twice\",\n"
            "b,,,\"[\"\"x\"\",\"\"y\"\"]\"\n");
}

TEST(Output, NamesAreOneALine) {
  EXPECT_EQ(Render(TwoThings(), OutputFormat::kName, {}), "a\nb\n");
}

TEST(Output, TableIsAligned) {
  EXPECT_EQ(Render(TwoThings(), OutputFormat::kTable, {}),
            "ID   SIZE  WHY\n"
            "a       1  said \"so\", twice\n"
            "b   1,000  x | y\n");
}

TEST(Output, MarkdownEscapesBars) {
  EXPECT_EQ(Render(TwoThings(), OutputFormat::kMarkdown, {}),
            "| ID | SIZE | WHY |\n"
            "|---|---:|---|\n"
            "| a | 1 | said \"so\", twice |\n"
            "| b | 1,000 | x \\| y |\n");
}

TEST(Output, MarkdownEscapesWhatMarksWords) {
  Listing listing{.table = TextTable({{"_ID_"}})};
  listing.table.AddRow({"*a* `b` \\ <c> [d](e)"});
  listing.table.AddRow({"train.micro_batch_size 62 GiB * é_é _"});
  listing.table.AddRow({"* two\nlines"});
  EXPECT_EQ(Render(listing, OutputFormat::kMarkdown, {}),
            "| \\_ID\\_ |\n|---|\n"
            "| \\*a\\* \\`b\\` \\\\ \\<c\\> \\[d\\](e) |\n"
            "| train.micro_batch_size 62 GiB * é_é \\_ |\n"
            "| \\* two lines |\n");
}

TEST(Output, TextThatIsNoUtf8IsReplacedAndNumbersThatAreNoneAreNull) {
  EXPECT_EQ(RenderLine({{"text", "a\xff"}, {"loss", std::nan("")}}),
            "{\"text\":\"a\xEF\xBF\xBD\",\"loss\":null}\n");
}

TEST(Output, FormatsAreKnownByName) {
  EXPECT_EQ(ParseOutputFormat("md"), OutputFormat::kMarkdown);
  EXPECT_EQ(ParseOutputFormat("yaml"), std::nullopt);
}

TEST(TextTable, ANarrowTerminalWrapsTheLastColumnOnly) {
  TextTable table({{"ID"}, {"WHY"}});
  table.AddRow({"j1", "waits for two devices of the kind that it wants"});
  EXPECT_EQ(table.Render({.width = 30}),
            "ID  WHY\n"
            "j1  waits for two devices of\n"
            "    the kind that it wants\n");
}

TEST(TextTable, ANarrowTerminalCutsTheColumnsThatMayBe) {
  TextTable table({{"ID"}, {.header = "NAME", .cut = true}, {"WHY"}});
  table.AddRow({"j1", "a-name-of-many-letters", "waits for two devices"});
  EXPECT_EQ(table.Render({.width = 40}),
            "ID  NAME           WHY\n"
            "j1  a-name-of-ma…  waits for two devices\n");
  EXPECT_NE(table.Render({}).find("a-name-of-many-letters  waits"), std::string::npos);
}

TEST(TextTable, ANarrowTerminalLeavesOutTheColumnsThatMayGoBeforeItCuts) {
  TextTable table({{.header = "NAME", .cut = true},
                   {.header = "A", .goes = 1},
                   {.header = "REF", .goes = 1},
                   {.header = "B"},
                   {.header = "REF"},
                   {.header = "C", .goes = 2}});
  table.AddRow({"a-name-of-twenty-one!", "1", "1.1", "2", "2.2", "3"});
  EXPECT_EQ(table.Render({.width = 42}),
            "NAME                   A  REF  B  REF  C\na-name-of-twenty-one!  1  1.1  2  2.2  3\n");
  EXPECT_EQ(table.Render({.width = 39}),
            "NAME                   A  REF  B  REF\na-name-of-twenty-one!  1  1.1  2  2.2\n"
            "(too narrow for C)\n");
  EXPECT_EQ(table.Render({.width = 36}),
            "NAME                   B  REF\na-name-of-twenty-one!  2  2.2\n"
            "(too narrow for A, C)\n");
  EXPECT_EQ(table.Render({.width = 28}),
            "NAME                  B  REF\na-name-of-twenty-on…  2  2.2\n(too narrow for A, C)\n");
}

TEST(TextTable, AVeryNarrowTerminalPutsTheLastColumnBelowItsRow) {
  TextTable table({{"ID"}, {"NAME"}, {"WHY"}});
  table.AddRow({"j1", "a-rather-long-name", "waits for two devices of the kind that it wants"});
  table.AddRow({"j2", "b", "ok"});
  EXPECT_EQ(table.Render({.width = 34}),
            "ID  NAME                WHY\n"
            "j1  a-rather-long-name\n"
            "    waits for two devices of the\n"
            "    kind that it wants\n"
            "j2  b                   ok\n");
}

TEST(TextTable, ColumnsThatDoNotStandBesideEachOtherGoOnBelowTheRow) {
  TextTable table({{"FIRST"}, {"SECOND", true}, {"THIRD"}, {"LAST"}});
  table.AddRow({"a-word-of-20-columns", "1,234 B", "another-long-word", "why it is so"});
  table.AddRow({"b", "2 B"});
  EXPECT_EQ(table.Render({.width = 30}),
            "FIRST                  SECOND\n"
            "    THIRD              LAST\n"
            "a-word-of-20-columns  1,234 B\n"
            "    another-long-word\n"
            "    why it is so\n"
            "b                         2 B\n");
}

TEST(TextTable, ColoursDoNotCountAsWidth) {
  TextTable table({{"A"}, {"B"}});
  table.AddRow({{"x", Style::kGood}, "y"});
  table.AddRow({"xyz", "y"});
  EXPECT_EQ(table.Render({.colour = true}),
            "\xff[2mA\xff[0m    \xff[2mB\xff[0m\n\xff[32mx\xff[0m    y\nxyz  y\n");
}

}  // namespace
}  // namespace trainctl::client
