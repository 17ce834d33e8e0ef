// Streams and files of Arrow, and Parquet, through the library that reads them.
#include <algorithm>
#include <string>

#include "common/base/check.h"
#include "common/base/utf8.h"
#include "tests/fuzz/scratch_file.h"
#include "tests/fuzz/targets.h"
#include "worker/rank/tables/open_table.h"

namespace trainctl::fuzz {
namespace {

// A few bytes can claim batches without end: 50 of them took 9 s.
constexpr int kMostBatches = 5;

void CheckCell(const nlohmann::json& cell) {
  CHECK(cell.is_null() || cell.is_string() || cell.is_array() || cell.is_object()) << cell.dump();
  const std::string text = cell.is_string() ? cell.get<std::string>() : "";
  CHECK(!base::FindInvalidUtf8(text)) << "not UTF-8";
  if (!cell.is_structured()) return;
  for (const nlohmann::json& part : cell) CheckCell(part);
}

}  // namespace

bool ReadTables(std::string_view bytes) {
  static const ScratchFolder folder;
  const auto format = tables::TableFormatOf(bytes);
  if (!format) return false;
  const std::string path = folder.Write("table", bytes);
  auto table = tables::OpenTable(
      {path,
       *format,
       {{.names = {"text"}},
        {.names = {"messages"}, .kind = tables::CellKind::kTurns, .is_optional = true}}});
  if (!table) return false;
  int64_t count = 0;
  for (int batch = 0; batch < kMostBatches; ++batch) {
    const auto rows = (*table)->Next();
    if (!rows) return false;
    if (rows->rows.empty()) return true;
    CHECK(rows->first_row == count) << rows->first_row;
    count += std::ssize(rows->rows);
    std::ranges::for_each(rows->rows, CheckCell);
  }
  return true;
}

}  // namespace trainctl::fuzz
