#include "worker/rank/data/row_pipeline.h"

#include <sched.h>

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace trainctl::data {
namespace {

constexpr size_t kChunksOfThread = 3;  // that are held at a time

}  // namespace

RowPipeline::RowPipeline(const ReadRow& read, RowCollector* rows, RowPipelineOptions options)
    : read_(read), rows_(rows), options_(std::move(options)) {
  for (int i = 0; options_.threads > 1 && i < options_.threads; ++i)
    threads_.emplace_back([this] { Work(); });
}

RowPipeline::~RowPipeline() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

bool RowPipeline::Put(RowChunk chunk) {
  if (!IsWanted()) return false;
  auto job = std::make_shared<Job>(Job{std::move(chunk), rows_->Empty()});
  if (threads_.empty()) Tokenize(job.get());
  {
    const std::lock_guard lock(mutex_);
    job->is_done = threads_.empty();
    jobs_.push_back(job);
    if (!job->is_done) waiting_.push_back(job);
  }
  work_.notify_one();
  if (jobs_.size() > kChunksOfThread * threads_.size()) Join();
  return IsWanted();
}

base::Status RowPipeline::Finish() {
  while (!jobs_.empty() && IsWanted()) Join();
  return status_;
}

void RowPipeline::Join() {
  std::unique_lock lock(mutex_);
  const std::shared_ptr<Job> job = std::move(jobs_.front());
  jobs_.pop_front();
  done_.wait(lock, [&] { return job->is_done; });
  lock.unlock();
  auto made = job->rows.Take();
  CHECK(made.ok()) << made.error().message;  // is in memory
  const base::Status kept = rows_->Append(std::move(*made), options_.most_rows - rows_->count());
  if (!kept)
    status_ = kept;
  else if (IsWanted())
    status_ = job->status;
  if (options_.progress) options_.progress(job->chunk.done_bytes);
}

void RowPipeline::Work() {
  std::unique_lock lock(mutex_);
  while (true) {
    work_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
    if (stopping_) return;
    const std::shared_ptr<Job> job = std::move(waiting_.front());
    waiting_.pop_front();
    lock.unlock();
    Tokenize(job.get());
    lock.lock();
    job->is_done = true;
    done_.notify_one();
  }
}

void RowPipeline::Tokenize(Job* job) const {
  job->status =
      job->chunk.read([&](const files::JsonObject& row) { return read_(row, &job->rows); });
  job->chunk.read = nullptr;  // and what it holds
}

int TokenizingThreads() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::clamp(CPU_COUNT(&set), 1, kMostTokenizingThreads);
}

}  // namespace trainctl::data
