// Rows to tokens on several threads, in the order of the rows. Chunks are tokenized as they come,
// each by itself; who puts them also joins what came of them, so that few are held.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/data/row_chunk.h"
#include "worker/rank/data/row_collector.h"
#include "worker/rank/data/row_format.h"

namespace trainctl::data {

struct RowPipelineOptions {
  int64_t most_rows = INT64_MAX;
  int threads = 1;  // 1: all is done by who puts
  RowProgress progress = {};
};

// Put and Finish are called from one thread, which is told of progress too.
class RowPipeline {
 public:
  // What a chunk's rows become; read is called from all threads. All outlives the pipeline.
  RowPipeline(const ReadRow& read, RowCollector* rows, RowPipelineOptions options);
  // Chunks that nobody has begun are dropped.
  ~RowPipeline();
  RowPipeline(const RowPipeline&) = delete;

  // False: there are as many rows as are wanted, or a chunk has failed.
  bool Put(RowChunk chunk);

  // Waits for all chunks. The first error in the order of rows, if it stands before most_rows.
  base::Status Finish();

 private:
  struct Job {
    RowChunk chunk;
    RowCollector rows;  // of the chunk
    base::Status status = base::Ok{};
    bool is_done = false;
  };

  void Work();
  void Tokenize(Job* job) const;
  // Waits for the first of all.
  void Join();
  bool IsWanted() const { return status_.ok() && rows_->count() < options_.most_rows; }

  const ReadRow& read_;
  RowCollector* const rows_;
  const RowPipelineOptions options_;
  base::Status status_ = base::Ok{};

  std::mutex mutex_;
  std::condition_variable work_, done_;
  bool stopping_ = false;
  std::deque<std::shared_ptr<Job>> jobs_;     // in the order of rows
  std::deque<std::shared_ptr<Job>> waiting_;  // those that no thread has begun
  std::vector<std::thread> threads_;          // last: they use all of the above
};

// For rows and pictures: as many as this thread may use CPUs, at most kMostTokenizingThreads.
inline constexpr int kMostTokenizingThreads = 16;
int TokenizingThreads();

}  // namespace trainctl::data
