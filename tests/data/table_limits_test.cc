// Few bytes of a table may name many values: what is made of them has bounds.
#include <gmock/gmock.h>

#include <filesystem>

#include "tests/checkout.h"
#include "worker/rank/tables/open_table.h"

namespace trainctl::data {
namespace {

using tables::CellKind;
using tables::Table;

// tests/baselines/generate_tables.py: each of less than 1 KiB.
tables::TableSource Bomb(const std::string& name) {
  return {.path = checkout::File("tests/baselines/tables/bombs/" + name),
          .format = tables::TableFormat::kStream,
          .columns = {}};
}

class BombTest : public testing::TestWithParam<const char*> {
 protected:
  // Where Arrow's library could not be fetched, the build does without.
  void SetUp() override {
    if (!std::filesystem::exists(checkout::Program("../lib/trainctl/libtrainctl_arrow.so")))
      GTEST_SKIP() << "built without Arrow's library";
  }
};

tables::TableSource ParquetBomb(const std::string& name) {
  tables::TableSource source = Bomb(name + ".parquet");
  source.format = tables::TableFormat::kParquet;
  source.columns = {{.names = {"text"}}};
  return source;
}

class ParquetBombs : public BombTest {};

TEST_F(ParquetBombs, RowsThatAreNotThereAreNotMade) {
  for (const std::string name : {"claims_all", "claims_file"}) {
    const auto table = tables::OpenTable(ParquetBomb(name));
    ASSERT_TRUE(table.ok()) << table.error().message;
    int64_t count = 0;
    auto rows = (*table)->Next();
    for (; rows && !rows->rows.empty(); rows = (*table)->Next()) count += std::ssize(rows->rows);
    EXPECT_EQ(count, 1000) << name;
    EXPECT_EQ(rows.ok(), name == "claims_file");
    if (rows) continue;
    EXPECT_THAT(rows.error().message, testing::HasSubstr("expected 1099511627776"));
  }
}

TEST_F(ParquetBombs, AnEntryOfADictionaryIsGivenAFewTimesAtOnce) {
  const auto table = tables::OpenTable(ParquetBomb("dictionary"));
  ASSERT_TRUE(table.ok()) << table.error().message;
  int64_t count = 0;
  while (true) {
    const auto rows = (*table)->Next();
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    if (rows->rows.empty()) break;
    EXPECT_LE(std::ssize(rows->rows), Table::kBytesAtOnce >> 20);
    count += std::ssize(rows->rows);
  }
  EXPECT_EQ(count, 100);
}

TEST_F(ParquetBombs, APageThatUnpacksToAnEndlessRowIsTold) {
  const auto table = tables::OpenTable(ParquetBomb("page"));
  ASSERT_TRUE(table.ok()) << table.error().message;
  const auto rows = (*table)->Next();
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.error().code, base::Code::kExhausted);
}

class ManyTurns : public BombTest {};

TEST_P(ManyTurns, ARowThatTakesTooMuchMemoryIsToldWithItsPlace) {
  tables::TableSource source = Bomb(GetParam() + std::string(".arrow"));
  source.columns = {{.names = {"messages"}, .kind = CellKind::kTurns}};
  const auto table = tables::OpenTable(source);
  ASSERT_TRUE(table.ok()) << table.error().message;
  const auto rows = (*table)->Next();
  ASSERT_FALSE(rows.ok());
  EXPECT_EQ(rows.error().code, base::Code::kExhausted);
  EXPECT_EQ(rows.error().message, source.path +
                                      ": batch 0, row 0: column 'messages': the row takes more "
                                      "than 256 MiB of memory");
}

INSTANTIATE_TEST_SUITE_P(Bombs, ManyTurns, testing::Values("lists", "list_views", "sized_lists"));

class LongTexts : public BombTest {};

// 100 rows of one text of 1 MiB.
TEST_P(LongTexts, FewAreGivenAtOnce) {
  tables::TableSource source = Bomb(GetParam() + std::string(".arrow"));
  source.columns = {{.names = {"text"}}};
  const auto table = tables::OpenTable(source);
  ASSERT_TRUE(table.ok()) << table.error().message;
  int64_t count = 0;
  while (true) {
    const auto rows = (*table)->Next();
    ASSERT_TRUE(rows.ok()) << rows.error().message;
    if (rows->rows.empty()) break;
    EXPECT_EQ(rows->first_row, count);
    EXPECT_LE(std::ssize(rows->rows), Table::kBytesAtOnce >> 20);
    count += std::ssize(rows->rows);
    for (const nlohmann::json& row : rows->rows)
      EXPECT_EQ(row["text"].get_ref<const std::string&>().size(), size_t{1} << 20);
  }
  EXPECT_EQ(count, 100);
}

INSTANTIATE_TEST_SUITE_P(Bombs, LongTexts, testing::Values("words", "views"));

}  // namespace
}  // namespace trainctl::data
