#include "worker/rank/data/table_rows.h"

#include <filesystem>
#include <fstream>

#include "common/base/utf8.h"
#include "common/job/data_format.h"
#include "worker/rank/tables/open_table.h"

namespace trainctl::data {
namespace {

using tables::CellKind;
using tables::WantedColumn;

constexpr size_t kShownMagicBytes = 40;
constexpr std::string_view kLfsPointer = "version https://git-lfs";

std::vector<WantedColumn> WantedColumns(const job::DataSpec& data) {
  std::vector<WantedColumn> wanted;
  for (const std::string_view key : job::ColumnsOf(data.format)) {
    WantedColumn column{.names = {job::ColumnOf(data, std::string(key))}};
    column.is_optional = key == "input";  // alpaca's
    if (key == "messages") {
      column.kind = CellKind::kTurns;
      if (!data.columns.contains("messages")) column.names.push_back("conversations");
    }
    if (key == "image") {
      column.kind = CellKind::kPicture;
      if (!data.columns.contains("image")) column.names.push_back("file_name");
    }
    wanted.push_back(std::move(column));
  }
  return wanted;
}

base::Result<tables::TableFormat> FormatOf(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error))
    return base::Error{base::Code::kNotFound, path + ": no such file"};
  std::ifstream file(path, std::ios::binary);
  std::string head(kShownMagicBytes, '\0');
  file.read(head.data(), std::ssize(head));
  head.resize(static_cast<size_t>(file.gcount()));
  if (const auto format = tables::TableFormatOf(head)) return *format;
  if (head.starts_with(kLfsPointer)) {
    return base::Error{base::Code::kInvalid,
                       path + ": a pointer of Git LFS in place of the file: git lfs pull"};
  }
  return base::Error{base::Code::kInvalid,
                     path + ": begins with \"" + base::Excerpt(head, kShownMagicBytes) +
                         "\", expected Parquet, or a stream or file of Arrow"};
}

base::Status TakeRows(const tables::TableRows& rows, const std::string& path, int64_t most,
                      const TakeRow& take) {
  for (int64_t i = 0; i < std::min(std::ssize(rows.rows), most); ++i) {
    const std::string place =
        path + ": " + rows.place + ", row " + std::to_string(rows.first_row + i);
    if (auto taken = TakeJsonRow(rows.rows[static_cast<size_t>(i)], place, take); !taken)
      return taken.error();
  }
  return base::Ok{};
}

base::Result<int64_t> ReadTable(const std::string& path, const std::vector<WantedColumn>& columns,
                                int64_t most, const TakeRow& take, const RowProgress& progress) {
  const auto format = FormatOf(path);
  if (!format) return format.error();
  auto table = tables::OpenTable({path, *format, columns});
  if (!table) return table.error();
  int64_t count = 0;
  while (count < most) {
    const auto rows = (*table)->Next();
    if (!rows) return rows.error();
    if (rows->rows.empty()) break;
    if (auto taken = TakeRows(*rows, path, most - count, take); !taken) return taken.error();
    count += std::ssize(rows->rows);
    if (progress) progress(rows->done_bytes);
  }
  return std::min(count, most);
}

}  // namespace

base::Result<int64_t> ReadTableRows(const std::vector<std::string>& paths,
                                    const job::DataSpec& data, const TakeRow& take,
                                    const RowProgress& progress) {
  const int64_t most = data.max_rows.value_or(INT64_MAX);
  int64_t count = 0, read_bytes = 0;
  for (const std::string& path : paths) {
    if (count == most) break;
    const auto told = [&](int64_t done_bytes) {
      if (progress) progress(read_bytes + done_bytes);
    };
    const auto rows = ReadTable(path, WantedColumns(data), most - count, take, told);
    if (!rows) return rows.error();
    count += *rows;
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    if (!error) read_bytes += static_cast<int64_t>(bytes);
  }
  return count;
}

}  // namespace trainctl::data
