#include "worker/rank/data/table_rows.h"

#include <filesystem>
#include <fstream>
#include <memory>
#include <utility>

#include "common/base/utf8.h"
#include "common/job/data_format.h"
#include "worker/rank/files/lfs_pointer.h"
#include "worker/rank/tables/open_table.h"

namespace trainctl::data {
namespace {

using tables::CellKind;
using tables::WantedColumn;

constexpr size_t kShownMagicBytes = 40;

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
  if (files::IsLfsPointer(head))
    return base::Error{base::Code::kInvalid, path + ": " + std::string(files::kLfsPointerText)};
  return base::Error{base::Code::kInvalid,
                     path + ": begins with \"" + base::Excerpt(head, kShownMagicBytes) +
                         "\", expected Parquet, or a stream or file of Arrow"};
}

base::Status TakeRows(const tables::TableRows& rows, const std::string& path, const TakeRow& take) {
  for (int64_t i = 0; i < std::ssize(rows.rows); ++i) {
    const std::string place =
        path + ": " + rows.place + ", row " + std::to_string(rows.first_row + i);
    if (auto taken = TakeJsonRow(rows.rows[static_cast<size_t>(i)], place, take); !taken)
      return taken.error();
  }
  return base::Ok{};
}

}  // namespace

base::Result<std::unique_ptr<tables::Table>> OpenTableOf(const std::string& path,
                                                         const job::DataSpec& data, double begin) {
  const auto format = FormatOf(path);
  if (!format) return format.error();
  return tables::OpenTable({path, *format, WantedColumns(data), begin});
}

RowChunk ChunkOf(tables::TableRows rows, const std::string& path, int64_t before_bytes) {
  const int64_t done_bytes = before_bytes + rows.done_bytes;
  // Functions are copied, rows are not.
  const auto shared = std::make_shared<const tables::TableRows>(std::move(rows));
  return {[shared, path](const TakeRow& take) { return TakeRows(*shared, path, take); },
          done_bytes};
}

base::Status CutTables(const std::vector<std::string>& paths, const job::DataSpec& data,
                       const PutChunk& put) {
  int64_t before_bytes = 0;
  for (const std::string& path : paths) {
    auto table = OpenTableOf(path, data);
    if (!table) return table.error();
    while (true) {
      auto next = (*table)->Next();
      if (!next) return next.error();
      if (next->rows.empty()) break;
      if (!put(ChunkOf(std::move(*next), path, before_bytes))) return base::Ok{};
    }
    std::error_code error;
    const auto bytes = std::filesystem::file_size(path, error);
    if (!error) before_bytes += static_cast<int64_t>(bytes);
  }
  return base::Ok{};
}

}  // namespace trainctl::data
