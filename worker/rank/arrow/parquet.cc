// Parquet, row group by row group, of which a few pages are held at a time.
#include <arrow/io/file.h>
#include <arrow/record_batch.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>
#include <parquet/file_reader.h>
#include <parquet/properties.h>

#include <algorithm>
#include <utility>

#include "worker/rank/arrow/batches.h"
#include "worker/rank/arrow/errors.h"
#include "worker/rank/tables/table.h"

namespace trainctl::tables {
namespace {

constexpr int kMostSchemaDepth = 16;
constexpr int64_t kBufferBytes = 1 << 20;  // of a column
constexpr int64_t kPicturesAtOnce = 32;

void AddLeaves(const parquet::arrow::SchemaField& field, std::vector<int>* leaves) {
  if (field.is_leaf()) leaves->push_back(field.column_index);
  for (const auto& child : field.children) AddLeaves(child, leaves);
}

class ParquetSource : public BatchSource {
 public:
  explicit ParquetSource(std::string path) : path_(std::move(path)) {}

  base::Status Open(arrow::MemoryPool* pool) {
    auto input = arrow::io::ReadableFile::Open(path_, pool);
    if (!input.ok()) return ErrorOf(input.status(), path_);
    bytes_ = (*input)->GetSize().ValueOr(0);
    parquet::ReaderProperties properties(pool);
    properties.enable_buffered_stream();
    properties.set_buffer_size(kBufferBytes);
    properties.set_schema_depth_limit(kMostSchemaDepth);
    properties.set_page_checksum_verification(true);
    parquet::ArrowReaderProperties arrow_properties(/*use_threads=*/false);
    arrow_properties.set_batch_size(Table::kRowsAtOnce);
    arrow_properties.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    arrow::Status built = builder.Open(*input, properties);
    if (built.ok())
      built = builder.memory_pool(pool)->properties(arrow_properties)->Build(&reader_);
    if (built.ok()) built = reader_->GetSchema(&schema_);
    if (!built.ok()) return ErrorOf(built, path_);
    return base::Ok{};
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }

  int64_t all_rows() const override { return reader_->parquet_reader()->metadata()->num_rows(); }

  void Begin(double share) override {
    next_group_ = static_cast<int>(share * reader_->num_row_groups());
    const auto metadata = reader_->parquet_reader()->metadata();
    for (int group = 0; group < next_group_; ++group)
      first_row_ += metadata->RowGroup(group)->num_rows();
  }

  int64_t first_row() const override { return first_row_; }

  base::Status Select(const std::vector<int>& fields) override {
    for (const int field : fields) {
      AddLeaves(reader_->manifest().schema_fields.at(static_cast<size_t>(field)), &leaves_);
      const arrow::Type::type type = schema_->field(field)->type()->id();
      if (type == arrow::Type::STRUCT || type == arrow::Type::BINARY)
        reader_->set_batch_size(kPicturesAtOnce);
    }
    return base::Ok{};
  }

  base::Result<PlacedBatch> Next() override {
    while (true) {
      const int group = next_group_ - 1;  // that is being read
      PlacedBatch next{.batch = nullptr, .place = "row group " + std::to_string(group)};
      if (batches_ != nullptr) {
        const arrow::Status read = batches_->ReadNext(&next.batch);
        if (!read.ok()) return ErrorOf(read, path_ + ": " + next.place);
      }
      next.done_bytes = bytes_ / std::max(reader_->num_row_groups(), 1) * std::max(group, 0);
      if (next.batch != nullptr) {
        group_rows_ += next.batch->num_rows();
        return next;
      }
      if (auto whole = CheckGroup(group); !whole) return whole.error();
      if (next_group_ == reader_->num_row_groups()) return next;
      if (auto opened = OpenGroup(next_group_++); !opened) return opened.error();
    }
  }

 private:
  base::Status OpenGroup(int group) {
    auto batches = reader_->GetRecordBatchReader({group}, leaves_);
    if (!batches.ok())
      return ErrorOf(batches.status(), path_ + ": row group " + std::to_string(group));
    batches_ = std::move(*batches);
    group_rows_ = 0;
    return base::Ok{};
  }

  // Arrow's reader ends where a column says that it has fewer values.
  base::Status CheckGroup(int group) const {
    if (batches_ == nullptr) return base::Ok{};
    const int64_t rows = reader_->parquet_reader()->metadata()->RowGroup(group)->num_rows();
    if (group_rows_ == rows) return base::Ok{};
    return base::Error{base::Code::kInvalid,
                       path_ + ": row group " + std::to_string(group) + ": its columns hold " +
                           std::to_string(group_rows_) + " rows, expected " + std::to_string(rows)};
  }

  const std::string path_;
  std::unique_ptr<parquet::arrow::FileReader> reader_;
  std::shared_ptr<arrow::Schema> schema_;  // of all fields
  std::vector<int> leaves_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;  // of the row group that is being read
  int next_group_ = 0;
  int64_t first_row_ = 0;
  int64_t group_rows_ = 0;  // read of it
  int64_t bytes_ = 0;
};

}  // namespace

base::Result<std::unique_ptr<BatchSource>> OpenParquet(const std::string& path,
                                                       arrow::MemoryPool* pool) {
  auto source = std::make_unique<ParquetSource>(path);
  if (auto opened = source->Open(pool); !opened) return opened.error();
  return std::unique_ptr<BatchSource>(std::move(source));
}

}  // namespace trainctl::tables
