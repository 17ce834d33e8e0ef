// The record batches of a file, one after the other.
#pragma once

#include <arrow/memory_pool.h>
#include <arrow/record_batch.h>
#include <arrow/type.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace trainctl::tables {

struct PlacedBatch {
  std::shared_ptr<arrow::RecordBatch> batch;  // of the selected fields; null: the file's end
  std::string place;                          // "row group 3"
  int64_t done_bytes = 0;                     // of the file, about
};

class BatchSource {
 public:
  virtual ~BatchSource() = default;

  virtual std::shared_ptr<arrow::Schema> schema() const = 0;
  // Leaves out this share of the row groups, where there are any. Before the first batch.
  virtual void Begin(double) {}
  // The row that the first batch begins with.
  virtual int64_t first_row() const { return 0; }
  // The fields of the schema that batches hold, ascending. Before the first batch.
  virtual base::Status Select(const std::vector<int>& fields) = 0;
  // Not validated.
  virtual base::Result<PlacedBatch> Next() = 0;
  virtual int64_t all_rows() const { return -1; }
  // Where in the file a value of the last batch begins; −1: it does not lie there as it is.
  virtual int64_t PlaceOf(std::string_view) const { return -1; }
};

// path stands in messages. The pool outlives the source and its batches.
// Errors: kNotFound, kIo, kInvalid.
base::Result<std::unique_ptr<BatchSource>> OpenStream(const std::string& path,
                                                      arrow::MemoryPool* pool);
base::Result<std::unique_ptr<BatchSource>> OpenFile(const std::string& path,
                                                    arrow::MemoryPool* pool);
base::Result<std::unique_ptr<BatchSource>> OpenParquet(const std::string& path,
                                                       arrow::MemoryPool* pool);

}  // namespace trainctl::tables
