#include "worker/rank/process/reporter.h"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <utility>

#include "common/rank/rank_json.h"

namespace trainctl::train {
namespace {

constexpr auto kFlushInterval = std::chrono::milliseconds(250);
constexpr size_t kPointsPerMessage = 500;

void Write(int fd, const std::string& text) {
  size_t done = 0;
  while (fd >= 0 && done < text.size()) {
    const ssize_t written = ::write(fd, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;  // the shim is gone, and this process with it
    done += static_cast<size_t>(written);
  }
}

}  // namespace

Reporter::Reporter(int fd, const base::Clock& clock, int64_t rank, int log_fd)
    : fd_(fd),
      clock_(clock),
      rank_(rank),
      log_fd_(rank == 0 ? log_fd : -1),
      log_(clock.Steady()),
      thread_([this] { Run(); }) {}

Reporter::~Reporter() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void Reporter::Send(const job::RankMessage& message) {
  {
    const std::lock_guard lock(mutex_);
    lines_.push_back(job::ToLine(message));
  }
  wake_.notify_one();
}

void Reporter::Phase(job::RunPhase phase, int64_t done, int64_t total) {
  {
    const std::lock_guard lock(mutex_);
    const bool is_new = phase != phase_.phase;
    if (is_new && phase_changed_) lines_.push_back(job::ToLine(phase_));
    phase_ = {phase, done, total};
    phase_changed_ = !is_new;
    if (!is_new) return;
    log_.Phase(phase, clock_.Steady());
    lines_.push_back(job::ToLine(phase_));
  }
  wake_.notify_one();
}

void Reporter::Saved(std::string kind, std::string path,
                     const base::Result<base::SavedRecord>& record,
                     std::vector<std::string> removed) {
  if (!record)
    Send(job::RankNotice{"no other host can read what was saved: " + record.error().message});
  const int64_t bytes = record ? record->Bytes() : 0;
  {
    const std::lock_guard lock(mutex_);
    log_.Saved(kind, path, bytes, clock_.Steady());
  }
  Send(job::RankSaved{std::move(kind), std::move(path), bytes,
                      record ? base::ToText(*record) : std::string(), std::move(removed)});
}

void Reporter::Record(job::Metric metric, int64_t step, double value,
                      std::optional<job::Phase> phase) {
  const job::MetricInfo& info = job::Info(metric);
  const bool of_gang = info.scope == job::Scope::kGang;
  if (of_gang && rank_ != 0) return;
  const std::lock_guard lock(mutex_);
  if (points_.size() >= kMaxPendingPoints) {
    points_.pop_front();
    ++dropped_points_;
  }
  points_.push_back({.name = std::string(info.name),
                     .step = step,
                     .rank = of_gang ? std::nullopt : std::optional(rank_),
                     .phase = phase,
                     .value = value,
                     .time = clock_.Wall()});
  if (tracks_ && tracked_.size() < kMaxPendingPoints) tracked_.push_back(points_.back());
}

void Reporter::Progress(const job::RankProgress& progress) {
  const std::lock_guard lock(mutex_);
  const job::Stage stage = progress_.stage;
  progress_ = progress;
  progress_.stage = stage;
  progress_changed_ = true;
}

void Reporter::Stepped(const LoggedStep& step) {
  const std::lock_guard lock(mutex_);
  log_.Stepped(step, clock_.Steady());
}

void Reporter::Evaluated(const LoggedEvaluation& evaluation) {
  const std::lock_guard lock(mutex_);
  log_.Evaluated(evaluation, clock_.Steady());
}

void Reporter::Stage(job::Stage stage) {
  const std::lock_guard lock(mutex_);
  if (progress_.stage == stage) return;
  progress_.stage = stage;
  progress_changed_ = true;
}

void Reporter::Track(EventFile file) {
  const std::lock_guard lock(mutex_);
  curves_ = std::move(file);
  tracks_ = true;
}

void Reporter::WriteCurves(EventFile* curves, const std::vector<job::MetricPoint>& points) {
  if (points.empty()) return;
  const base::Status added = curves->Add(points);
  if (added) return;
  {
    const std::lock_guard lock(mutex_);
    tracks_ = false;
  }
  Send(job::RankNotice{"no more curves are written for TensorBoard: " + added.error().message});
}

// All that is pending as lines: messages first, in order, then how far the phase is, metrics, and
// the latest progress.
std::string Reporter::TakePending() {
  std::string text;
  for (const std::string& line : lines_) text += line + '\n';
  lines_.clear();
  if (std::exchange(phase_changed_, false)) text += job::ToLine(phase_) + '\n';
  while (!points_.empty()) {
    job::RankMetrics message;
    while (!points_.empty() && message.points.size() < kPointsPerMessage) {
      message.points.push_back(std::move(points_.front()));
      points_.pop_front();
    }
    text += job::ToLine(message) + '\n';
  }
  if (progress_changed_ && progress_.steps > 0) text += job::ToLine(progress_) + '\n';
  progress_changed_ = false;
  return text;
}

void Reporter::Run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait_for(lock, kFlushInterval, [this] { return stopping_ || !lines_.empty(); });
    const bool last = stopping_;
    const std::string text = TakePending();
    const std::string log = log_.Take(clock_.Steady(), last);
    const int64_t dropped = std::exchange(dropped_points_, 0);
    EventFile* curves = tracks_ ? &*curves_ : nullptr;
    const std::vector<job::MetricPoint> tracked = std::exchange(tracked_, {});
    lock.unlock();
    if (dropped > 0)
      std::fprintf(stderr, "trainrank: %lld metric points dropped: the worker reads too slowly\n",
                   static_cast<long long>(dropped));
    Write(fd_, text);
    Write(log_fd_, log);
    if (curves != nullptr) WriteCurves(curves, tracked);
    lock.lock();
    if (last && lines_.empty() && points_.empty()) return;
  }
}

}  // namespace trainctl::train
