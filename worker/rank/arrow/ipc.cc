// Arrow's own formats: a stream of batches, and a file that has an index of them at its end.
#include <arrow/io/file.h>
#include <arrow/ipc/options.h>
#include <arrow/ipc/reader.h>
#include <sys/mman.h>

#include <utility>

#include "worker/rank/arrow/batches.h"
#include "worker/rank/arrow/errors.h"

namespace trainctl::tables {
namespace {

constexpr int kMostNesting = 16;
constexpr std::string_view kStreamEnd("\xFF\xFF\xFF\xFF\0\0\0\0", 8);

// A mapped file: batches that are not compressed lie there, and are not copied.
class MappedInput {
 public:
  base::Status Open(const std::string& path) {
    auto file = arrow::io::MemoryMappedFile::Open(path, arrow::io::FileMode::READ);
    if (!file.ok()) return ErrorOf(file.status(), path);
    file_ = *file;
    auto all = file_->GetSize();
    if (!all.ok()) return ErrorOf(all.status(), path);
    bytes_ = *all;
    auto mapped = file_->ReadAt(0, bytes_);
    if (!mapped.ok()) return ErrorOf(mapped.status(), path);
    begin_ = (*mapped)->address();
    return base::Ok{};
  }

  const std::shared_ptr<arrow::io::MemoryMappedFile>& file() const { return file_; }
  int64_t bytes() const { return bytes_; }
  std::string_view text() const {
    return {reinterpret_cast<const char*>(begin_), static_cast<size_t>(bytes_)};
  }
  int64_t PlaceOf(std::string_view value) const {
    const auto at = reinterpret_cast<uintptr_t>(value.data());
    const bool lies_here = at >= begin_ && at + value.size() <= begin_ + bytes_;
    return lies_here ? static_cast<int64_t>(at - begin_) : -1;
  }

  // What was read is the kernel's to take back; it comes again where it is touched.
  void Release() const {
    if (bytes_ > 0)
      ::madvise(reinterpret_cast<void*>(begin_), static_cast<size_t>(bytes_), MADV_DONTNEED);
  }

 private:
  std::shared_ptr<arrow::io::MemoryMappedFile> file_;
  uintptr_t begin_ = 0;  // of a page
  int64_t bytes_ = 0;
};

arrow::ipc::IpcReadOptions OptionsOf(arrow::MemoryPool* pool, const std::vector<int>& fields) {
  auto options = arrow::ipc::IpcReadOptions::Defaults();
  options.max_recursion_depth = kMostNesting;
  options.memory_pool = pool;
  options.included_fields = fields;
  options.use_threads = false;
  options.ensure_alignment = arrow::ipc::Alignment::kDataTypeSpecificAlignment;
  return options;
}

std::string NameOf(int64_t batch) { return "batch " + std::to_string(batch); }

// What both have: `Reader` is the one that Opener opens.
template <class Opener, class Reader>
class MappedSource : public BatchSource {
 public:
  MappedSource(std::string path, arrow::MemoryPool* pool) : path_(std::move(path)), pool_(pool) {}

  // Reads the schema; the first batch comes next.
  base::Status Open(const std::vector<int>& fields) {
    if (auto opened = input_.Open(path_); !opened) return opened.error();
    auto reader = Opener::Open(input_.file(), OptionsOf(pool_, fields));
    if (!reader.ok()) return ErrorOf(reader.status(), path_);
    reader_ = *reader;
    if (schema_ == nullptr) schema_ = reader_->schema();
    return base::Ok{};
  }

  std::shared_ptr<arrow::Schema> schema() const override { return schema_; }
  base::Status Select(const std::vector<int>& fields) override { return Open(fields); }
  int64_t PlaceOf(std::string_view value) const override { return input_.PlaceOf(value); }

 protected:
  const std::string path_;
  MappedInput input_;
  std::shared_ptr<Reader> reader_;

 private:
  arrow::MemoryPool* const pool_;
  std::shared_ptr<arrow::Schema> schema_;  // of all fields
};

using MappedStream = MappedSource<arrow::ipc::RecordBatchStreamReader, arrow::RecordBatchReader>;
class StreamSource : public MappedStream {
 public:
  using MappedStream::MappedStream;

  base::Result<PlacedBatch> Next() override {
    input_.Release();
    PlacedBatch next{.batch = nullptr, .place = NameOf(batches_++)};
    const int64_t begin = input_.file()->Tell().ValueOr(0);
    const arrow::Status read = reader_->ReadNext(&next.batch);
    if (!read.ok()) return ErrorOf(read, path_ + ": " + next.place);
    next.done_bytes = input_.file()->Tell().ValueOr(0);
    if (next.batch == nullptr) {
      if (auto whole = CheckEnd(begin, next.done_bytes); !whole) return whole.error();
    }
    return next;
  }

 private:
  // What lies between begin and end has ended the stream. To Arrow's reader four zeros, or the
  // file's end, do so too.
  base::Status CheckEnd(int64_t begin, int64_t end) const {
    const std::string_view last =
        input_.text().substr(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    if (!last.ends_with(kStreamEnd)) {
      return base::Error{base::Code::kInvalid, path_ + ": no end of the stream behind " +
                                                   std::to_string(batches_ - 1) +
                                                   " batches: the file is cut"};
    }
    if (end == input_.bytes()) return base::Ok{};
    return base::Error{base::Code::kInvalid,
                       path_ + ": " + std::to_string(input_.bytes() - end) +
                           " bytes behind the end of the stream, expected none"};
  }

  int64_t batches_ = 0;
};

using MappedIndexed =
    MappedSource<arrow::ipc::RecordBatchFileReader, arrow::ipc::RecordBatchFileReader>;
class FileSource : public MappedIndexed {
 public:
  using MappedIndexed::MappedIndexed;

  base::Result<PlacedBatch> Next() override {
    const int all = reader_->num_record_batches();
    input_.Release();
    if (batches_ == all)
      return PlacedBatch{.batch = nullptr, .place = "", .done_bytes = input_.bytes()};
    PlacedBatch next{.batch = nullptr, .place = NameOf(batches_)};
    auto batch = reader_->ReadRecordBatch(batches_++);
    if (!batch.ok()) return ErrorOf(batch.status(), path_ + ": " + next.place);
    next.batch = *batch;
    next.done_bytes = input_.bytes() / all * batches_;
    return next;
  }

 private:
  int batches_ = 0;
};

template <class Source>
base::Result<std::unique_ptr<BatchSource>> OpenSource(const std::string& path,
                                                      arrow::MemoryPool* pool) {
  auto source = std::make_unique<Source>(path, pool);
  if (auto opened = source->Open({}); !opened) return opened.error();
  return std::unique_ptr<BatchSource>(std::move(source));
}

}  // namespace

base::Result<std::unique_ptr<BatchSource>> OpenStream(const std::string& path,
                                                      arrow::MemoryPool* pool) {
  return OpenSource<StreamSource>(path, pool);
}

base::Result<std::unique_ptr<BatchSource>> OpenFile(const std::string& path,
                                                    arrow::MemoryPool* pool) {
  return OpenSource<FileSource>(path, pool);
}

}  // namespace trainctl::tables
