#include "server/rpc/log_stream.h"

#include <set>
#include <string>
#include <utility>

#include "server/coordinator/overlay.h"
#include "server/coordinator/questions.h"

namespace trainctl::rpc {
namespace {

grpc::Status HasNo(const std::string& what, int64_t which, base::JobId job, int64_t count) {
  const std::string text = base::ToString(job) + " has no " + what + " " + std::to_string(which) +
                           ": it has " + std::to_string(count);
  return {grpc::StatusCode::NOT_FOUND, text};
}

grpc::Status InvalidPosition(const std::string& why) {
  return {grpc::StatusCode::INVALID_ARGUMENT, "from: " + why};
}

// Ok: the ranks and the attempt that the request names are there.
grpc::Status CheckNames(const v1::LogsRequest& request, base::JobId job, int64_t ranks,
                        int64_t attempts) {
  const auto is_rank = [&](int64_t rank) { return rank >= 0 && rank < ranks; };
  const auto is_attempt = [&](int64_t attempt) { return attempt >= 1 && attempt <= attempts; };
  if (request.has_rank() && !is_rank(request.rank()))
    return HasNo("rank", request.rank(), job, ranks);
  if (request.has_attempt() && !is_attempt(request.attempt()))
    return HasNo("attempt", request.attempt(), job, attempts);
  for (const v1::LogPosition& position : request.from()) {
    if (!is_rank(position.rank())) return HasNo("rank", position.rank(), job, ranks);
    if (!is_attempt(position.attempt())) return HasNo("attempt", position.attempt(), job, attempts);
    if (position.offset() < 0)
      return InvalidPosition("offset " + std::to_string(position.offset()) +
                             ": expected 0 or more");
    const int64_t expected = request.has_attempt() ? request.attempt() : request.from(0).attempt();
    if (position.attempt() == expected) continue;
    return InvalidPosition("attempt " + std::to_string(position.attempt()) + ": expected " +
                           std::to_string(expected) + ", as elsewhere");
  }
  return grpc::Status::OK;
}

}  // namespace

LogStream::LogStream(Backend& backend) : WriteStream(backend), backend_(backend) {}

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
  while (OpenNextAttempt()) {
    if (WriteNext() == Progress::kWritten) return;
  }
  if (!live) Close(grpc::Status::OK);
}

void LogStream::Find() {
  waiting_ = true;
  backend_.reads.Ask<store::StoredJob>(
      user(),
      [name = request_.job()](store::Reader& reader) {
        return coordinator::ReadOneJob(reader, name);
      },
      Later<store::StoredJob>([this](const store::StoredJob& job) {
        waiting_ = false;
        OnFound(job);
      }));
}

void LogStream::OnFound(const store::StoredJob& stored) {
  const coordinator::Coordinator& coordinator = backend_.coordinator;
  const core::JobStatus status = coordinator::Snapshot(coordinator, stored).job.status;
  job_ = stored.row.id;
  world_size_ = stored.row.spec.devices;
  latest_attempt_ = status.attempt;
  if (request_.follow()) Subscribe();
  const grpc::Status named = CheckNames(request_, job_, world_size_, latest_attempt_);
  if (!named.ok()) return Close(named);
  first_attempt_ = request_.has_attempt()    ? request_.attempt()
                   : request_.from().empty() ? latest_attempt_
                                             : request_.from(0).attempt();
  if (first_attempt_ > 0) Open(first_attempt_);
}

void LogStream::Subscribe() {
  const auto pump = [this](const std::set<base::JobId>&) { PumpIfIdle(); };
  log_subscription_ = backend_.coordinator.log_changes().Subscribe({job_}, pump);
  job_subscription_ = backend_.coordinator.job_changes().Subscribe(
      {job_}, [this, pump](const std::set<base::JobId>& changed) {
        const core::Job* live = core::FindJob(backend_.coordinator.state(), job_);
        if (live != nullptr) latest_attempt_ = live->status.attempt;
        pump(changed);
      });
}

void LogStream::Open(int64_t attempt) {
  attempt_ = attempt;
  cursors_.clear();
  for (int64_t rank = 0; rank < world_size_; ++rank) {
    if (request_.has_rank() && request_.rank() != rank) continue;
    const job::RankKey key{job_, attempt, rank};
    cursors_.push_back({key, StartOf(key)});
  }
  next_cursor_ = 0;
  const bool has_tail = request_.from().empty() && request_.tail_lines() > 0;
  if (has_tail && attempt == first_attempt_) FindTails();
}

int64_t LogStream::StartOf(const job::RankKey& key) const {
  if (key.attempt != first_attempt_) return 0;
  for (const v1::LogPosition& position : request_.from()) {
    if (position.rank() == key.rank) return position.offset();
  }
  return 0;
}

// Files are read for lines on the read thread: a long tail holds back nobody.
void LogStream::FindTails() {
  using Offsets = std::vector<int64_t>;
  std::vector<std::vector<coordinator::LogSegment>> logs;
  for (const Cursor& cursor : cursors_) {
    auto segments = backend_.coordinator.logs().SegmentsOf(cursor.key);
    if (!segments) return Close(ToGrpc(segments.error()));
    logs.push_back(std::move(*segments));
  }
  waiting_ = true;
  const auto find = [logs = std::move(logs),
                     lines = request_.tail_lines()](store::Reader&) -> base::Result<Offsets> {
    Offsets offsets;
    for (const std::vector<coordinator::LogSegment>& log : logs) {
      const auto offset = coordinator::LogTailOffset(log, lines);
      if (!offset) return offset.error();
      offsets.push_back(*offset);
    }
    return offsets;
  };
  backend_.reads.Ask<Offsets>(user(), find, Later<Offsets>([this](const Offsets& offsets) {
                                waiting_ = false;
                                for (size_t i = 0; i < offsets.size(); ++i)
                                  cursors_[i].offset = offsets[i];
                              }));
}

bool LogStream::OpenNextAttempt() {
  if (request_.has_attempt() || attempt_ >= latest_attempt_) return false;
  Open(attempt_ + 1);
  return true;
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
    chunk.set_attempt(cursor.key.attempt);
    chunk.set_rank(cursor.key.rank);
    chunk.set_offset(piece->next_offset - static_cast<int64_t>(piece->data.size()));
    chunk.set_data(std::move(piece->data));
    Write(std::move(chunk));
    return Progress::kWritten;
  }
  return Progress::kNothingNew;
}

bool LogStream::JobIsLive() const {
  return core::FindJob(backend_.coordinator.state(), job_) != nullptr;
}

}  // namespace trainctl::rpc
