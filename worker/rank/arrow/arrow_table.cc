// The library's door: what OpenTable (open_table.h) calls. Exceptions of Arrow and Parquet end
// here.
#include <arrow/memory_pool.h>

#include <exception>
#include <set>
#include <utility>

#include "worker/rank/arrow/batches.h"
#include "worker/rank/arrow/cells.h"
#include "worker/rank/arrow/columns.h"
#include "worker/rank/arrow/errors.h"
#include "worker/rank/tables/open_table.h"

namespace trainctl::tables {
namespace {

using Source = std::unique_ptr<BatchSource>;

base::Result<Source> OpenSource(const TableSource& source, arrow::MemoryPool* pool) {
  switch (source.format) {
    case TableFormat::kStream: return OpenStream(source.path, pool);
    case TableFormat::kFile: return OpenFile(source.path, pool);
    case TableFormat::kParquet: return OpenParquet(source.path, pool);
  }
  CHECK(false) << static_cast<int>(source.format);
}

// call() may throw what Arrow and Parquet throw.
template <class Call>
auto Caught(const std::string& path, const Call& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return base::Error{base::Code::kExhausted, path + ": out of memory"};
  } catch (const std::exception& error) {
    return base::Error{base::Code::kInvalid,
                       path + ": " + base::Excerpt(error.what(), kMostErrorBytes)};
  }
}

bool IsBinary(const arrow::DataType& type) {
  return arrow::is_binary(type.id()) || arrow::is_large_binary_like(type.id()) ||
         type.id() == arrow::Type::BINARY_VIEW;
}

class ArrowTable : public Table {
 public:
  explicit ArrowTable(std::string path) : path_(std::move(path)) {}

  base::Status Open(const TableSource& source) {
    auto opened = OpenSource(source, &pool_);
    if (!opened) return opened.error();
    source_ = std::move(*opened);
    source_->Begin(source.begin);
    first_row_ = source_->first_row();
    const auto fields = ChooseColumns(*source_->schema(), source.columns, path_);
    if (!fields) return fields.error();
    for (const WantedColumn& column : source.columns) {
      if (column.kind == CellKind::kPicture)
        pictures_.insert(column.names.begin(), column.names.end());
    }
    return source_->Select(*fields);
  }

  base::Result<TableRows> Next() override {
    return Caught(path_, [&] { return NextRows(); });
  }

  int64_t all_rows() const override { return source_->all_rows(); }

 private:
  base::Result<TableRows> NextRows() {
    while (now_.batch == nullptr || taken_ == now_.batch->num_rows()) {
      if (auto read = ReadBatch(); !read) return read.error();
      if (now_.batch == nullptr) return TableRows{.done_bytes = now_.done_bytes};
    }
    TableRows rows{.rows = {},
                   .place = now_.place,
                   .first_row = first_row_ + taken_,
                   .done_bytes = now_.done_bytes};
    int64_t bytes = 0;  // of the rows
    const auto is_full = [&] {
      return std::ssize(rows.rows) == kRowsAtOnce || bytes >= kBytesAtOnce;
    };
    for (; taken_ < now_.batch->num_rows() && !is_full(); ++taken_) {
      CellBudget budget(kMostRowBytes);
      auto row = RowOf(taken_, &budget);
      if (!row) return row.error();
      bytes += kMostRowBytes - budget.left_bytes();
      rows.rows.push_back(std::move(*row));
    }
    return rows;
  }

  base::Status ReadBatch() {
    if (now_.batch != nullptr) first_row_ += now_.batch->num_rows();
    taken_ = 0;
    now_.batch = nullptr;  // two would be held
    auto next = source_->Next();
    if (!next) return next.error();
    now_ = std::move(*next);
    return now_.batch == nullptr ? base::Status(base::Ok{}) : Validate();
  }

  // What a file says of offsets, lengths and text is not to be believed before.
  base::Status Validate() const {
    const std::string place = path_ + ": " + now_.place;
    if (const auto whole = now_.batch->Validate(); !whole.ok()) return ErrorOf(whole, place);
    for (int i = 0; i < now_.batch->num_columns(); ++i) {
      const auto whole = now_.batch->column(i)->ValidateFull();
      if (!whole.ok()) return ErrorOf(whole, place + ": column '" + NameOf(i) + "'");
    }
    return base::Ok{};
  }

  base::Result<nlohmann::json> RowOf(int64_t index, CellBudget* budget) const {
    nlohmann::json row = nlohmann::json::object();
    for (int i = 0; i < now_.batch->num_columns(); ++i) {
      const arrow::Array& column = *now_.batch->column(i);
      const bool is_picture = pictures_.contains(NameOf(i));
      nlohmann::json cell = is_picture ? PictureCellOf(column, index, *source_, path_, budget)
                                       : CellOf(column, index, budget);
      if (budget->is_spent()) {
        return base::Error{base::Code::kExhausted, PlaceOf(i, index) + "the row takes more than " +
                                                       std::to_string(kMostRowBytes >> 20) +
                                                       " MiB of memory"};
      }
      if (cell.is_null() && column.IsValid(index) && IsBinary(*column.type())) {
        return base::Error{base::Code::kInvalid,
                           PlaceOf(i, index) + "bytes that are no UTF-8, expected text"};
      }
      row[NameOf(i)] = std::move(cell);
    }
    return row;
  }

  std::string PlaceOf(int column, int64_t index) const {
    return path_ + ": " + now_.place + ", row " + std::to_string(first_row_ + index) +
           ": column '" + NameOf(column) + "': ";
  }

  const std::string& NameOf(int column) const {
    return now_.batch->schema()->field(column)->name();
  }

  const std::string path_;
  arrow::CappedMemoryPool pool_{arrow::system_memory_pool(), kMostBytes};
  Source source_;
  PlacedBatch now_;
  int64_t first_row_ = 0;           // of now_, in the file
  int64_t taken_ = 0;               // rows of now_
  std::set<std::string> pictures_;  // columns
};

base::Result<std::unique_ptr<Table>> OpenArrowTable(const TableSource& source) {
  auto table = std::make_unique<ArrowTable>(source.path);
  if (auto opened = table->Open(source); !opened) return opened.error();
  return std::unique_ptr<Table>(std::move(table));
}

}  // namespace
}  // namespace trainctl::tables

using trainctl::tables::Table;
using trainctl::tables::TableSource;

extern "C" __attribute__((visibility("default"))) void TRAINCTL_OPEN_TABLE(
    const TableSource& source, trainctl::base::Result<std::unique_ptr<Table>>* table) {
  *table = trainctl::tables::Caught(source.path,
                                    [&] { return trainctl::tables::OpenArrowTable(source); });
}
