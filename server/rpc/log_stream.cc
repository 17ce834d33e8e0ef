#include "server/rpc/log_stream.h"

#include <set>
#include <string>
#include <utility>

#include "server/coordinator/overlay.h"
#include "server/coordinator/questions.h"

namespace trainctl::rpc {
namespace {

grpc::Status HasNo(const std::string& what, int64_t which, base::JobId job, int64_t count) {
  const std::string text = base::ToString(job) + " has no " + what + " " + std::to_string(which) + ": it has " + std::to_string(count);
  return {grpc::StatusCode::NOT_FOUND, text};
}

}  // namespace

LogStream::LogStream(Backend& backend, const v1::LogsRequest& request)
    : WriteStream(backend.loop, backend.client_streams), backend_(backend), request_(request) {}

LogStream::~LogStream() {
  if (log_subscription_) backend_.coordinator.log_changes().Unsubscribe(*log_subscription_);
  if (job_subscription_) backend_.coordinator.job_changes().Unsubscribe(*job_subscription_);
}

void LogStream::Pump() {
  if (waiting_) return;
  if (!job_) return Find();
  // Asked before the files are read: what a job wrote before it ended is then read to the end.
  const bool live = JobIsLive();
  if (WriteNext() == Progress::kWritten) return;
  if (!request_.follow()) return Close(grpc::Status::OK);
  OpenNextAttempt();
  if (WriteNext() == Progress::kWritten) return;
  if (!live) Close(grpc::Status::OK);
}

void LogStream::Find() {
  waiting_ = true;
  backend_.reads.Ask<store::StoredJob>([name = request_.job()](store::Reader& reader) { return coordinator::ReadOneJob(reader, name); },
                                       Later<store::StoredJob>([this](const store::StoredJob& job) {
                                         waiting_ = false;
                                         OnFound(job);
                                       }));
}

void LogStream::OnFound(const store::StoredJob& stored) {
  const coordinator::Coordinator& coordinator = backend_.coordinator;
  const core::JobStatus status = coordinator::Snapshot(coordinator.state(), coordinator.Now(), stored).job.status;
  job_ = stored.row.id;
  world_size_ = stored.row.spec.devices;
  if (request_.follow()) Subscribe();
  if (request_.has_rank() && (request_.rank() < 0 || request_.rank() >= world_size_)) {
    return Close(HasNo("rank", request_.rank(), job_, world_size_));
  }
  if (request_.has_attempt() && (request_.attempt() < 1 || request_.attempt() > status.attempt)) {
    return Close(HasNo("attempt", request_.attempt(), job_, status.attempt));
  }
  const int64_t attempt = request_.has_attempt() ? request_.attempt() : status.attempt;
  if (attempt > 0) Open(attempt);
}

void LogStream::Subscribe() {
  const auto pump = [this](const std::set<base::JobId>&) { PumpIfIdle(); };
  log_subscription_ = backend_.coordinator.log_changes().Subscribe({job_}, pump);
  job_subscription_ = backend_.coordinator.job_changes().Subscribe({job_}, pump);
}

void LogStream::Open(int64_t attempt) {
  const bool is_first = attempt_ == 0;
  attempt_ = attempt;
  cursors_.clear();
  for (int64_t rank = 0; rank < world_size_; ++rank) {
    if (request_.has_rank() && request_.rank() != rank) continue;
    Cursor cursor{{job_, attempt, rank}, 0};
    if (is_first && request_.tail_lines() > 0) {
      const auto tail = backend_.coordinator.logs().TailOffset(cursor.key, request_.tail_lines());
      if (!tail) return Close(ToGrpc(tail.error()));
      cursor.offset = *tail;
    }
    cursors_.push_back(cursor);
  }
  next_cursor_ = 0;
}

void LogStream::OpenNextAttempt() {
  if (request_.has_attempt()) return;
  const core::Job* live = core::FindJob(backend_.coordinator.state(), job_);
  if (live != nullptr && live->status.attempt > attempt_) Open(live->status.attempt);
}

LogStream::Progress LogStream::WriteNext() {
  for (size_t tried = 0; tried < cursors_.size(); ++tried) {
    Cursor& cursor = cursors_[next_cursor_];
    next_cursor_ = (next_cursor_ + 1) % cursors_.size();
    auto piece = backend_.coordinator.logs().Read(cursor.key, cursor.offset, kChunkBytes);
    if (!piece) {
      Close(ToGrpc(piece.error()));
      return Progress::kWritten;
    }
    cursor.offset = piece->next_offset;
    if (piece->data.empty()) continue;
    v1::LogChunk chunk;
    chunk.set_rank(cursor.key.rank);
    chunk.set_data(std::move(piece->data));
    Write(std::move(chunk));
    return Progress::kWritten;
  }
  return Progress::kNothingNew;
}

bool LogStream::JobIsLive() const { return core::FindJob(backend_.coordinator.state(), job_) != nullptr; }

}  // namespace trainctl::rpc
