#include "server/store/point_thinner.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/rank/metric.h"
#include "server/store/columns.h"

namespace trainctl::store {
namespace {

constexpr int64_t kStretches = 250;        // of a series
constexpr int64_t kPointsAtOnce = 10'000;  // looked at in one piece
constexpr int64_t kJobsAtOnce = 1'000;     // looked at in one piece
constexpr std::string_view kThinnedText =
    "its metric points were thinned by this site's policy: curves keep their shape, what compare "
    "shows is as before";

bool NeedsAllPoints(const std::string& metric) {
  const job::MetricInfo* info = job::FindMetric(metric);
  return info != nullptr && info->reduction == job::Reduction::kMedian;
}

int64_t StepsOfAStretch(int64_t latest_step) { return latest_step / kStretches + 1; }

}  // namespace

base::Result<ThinningPiece> PointThinner::Next(const ThinningWish& wish) {
  ThinningPiece piece;
  if (!job_ && due_.empty()) {
    piece.more = FindJobs(wish);
    const base::Status looked = database_.TakeStatus();
    if (looked.ok()) return piece;
    Forget();
    return looked.error();
  }
  Transaction transaction(database_);
  piece.more = true;
  if (job_ && !Exists(job_->id)) job_.reset();
  for (int64_t left = kPointsAtOnce; left > 0 && (job_ || !due_.empty());) {
    if (!job_) Begin();
    if (job_ && !job_->left.empty()) left -= ThinPiece(left, wish, piece);
    if (job_ && job_->left.empty()) End(wish);
  }
  const base::Status committed = transaction.Commit();
  if (committed.ok()) return piece;
  Forget();
  return committed.error();
}

void PointThinner::Forget() {
  last_looked_at_ = 0;
  due_.clear();
  job_.reset();
}

// False: all jobs were looked at; the next call begins with the first.
bool PointThinner::FindJobs(const ThinningWish& wish) {
  Statement& jobs = database_.Prepared(
      "SELECT job, state = 'FINISHED' AND ended_at < ? AND job NOT IN (SELECT job FROM thinned) "
      "FROM job_status WHERE job > ? ORDER BY job LIMIT ?");
  jobs.Put(wish.ended_before, last_looked_at_, kJobsAtOnce);
  bool any = false;
  while (jobs.Next()) {
    int64_t is_due = 0;
    jobs.Get(last_looked_at_, is_due);
    if (is_due != 0) due_.push_back({last_looked_at_});
    any = true;
  }
  if (!any) last_looked_at_ = 0;
  return any;
}

// It may have been forgotten meanwhile, and others may have the numbers of its series.
bool PointThinner::Exists(base::JobId job) {
  Statement& found = database_.Prepared("SELECT 1 FROM job_status WHERE job = ?");
  found.Put(job.value);
  const bool exists = found.Next();
  found.Reset();
  return exists;
}

void PointThinner::Begin() {
  const base::JobId job = due_.front();
  due_.pop_front();
  if (!Exists(job)) return;
  job_.emplace(Job{job, {}});
  Statement& all =
      database_.Prepared("SELECT id, name, latest_step FROM series WHERE job = ? ORDER BY id");
  all.Put(job.value);
  while (all.Next()) {
    Series series;
    std::string name;
    all.Get(series.id, name, series.latest_step);
    const bool is_long = StepsOfAStretch(series.latest_step) > 1;
    if (is_long && !NeedsAllPoints(name)) job_->left.push_back(series);
  }
}

// A null value is a NaN; as the lowest it stays.
int64_t PointThinner::ThinPiece(int64_t most, const ThinningWish& wish, ThinningPiece& piece) {
  Series& series = job_->left.front();
  const int64_t stretch = StepsOfAStretch(series.latest_step);
  Statement& end = database_.Prepared(
      "SELECT COUNT(*), COALESCE(MAX(step), 0) FROM "
      "(SELECT step FROM points WHERE series = ? AND step >= ? ORDER BY step LIMIT ?)");
  end.Put(series.id, series.from, most + 1);
  int64_t count = 0, until = 0;
  if (end.Next()) end.Get(count, until);
  end.Reset();
  const bool goes_on = count > most;
  if (goes_on) {
    until = std::max(until / stretch, series.from / stretch + 1) * stretch;
  } else {
    until = series.latest_step + 1;
  }
  Statement& thin = database_.Prepared(
      "DELETE FROM points WHERE series = ?1 AND step IN (SELECT step FROM (SELECT step, "
      "ROW_NUMBER() OVER (PARTITION BY step / ?4 ORDER BY step) AS place, "
      "ROW_NUMBER() OVER (PARTITION BY step / ?4 ORDER BY value, step) AS low, "
      "ROW_NUMBER() OVER (PARTITION BY step / ?4 ORDER BY value DESC, step) AS high "
      "FROM points WHERE series = ?1 AND step >= ?2 AND step < ?3) "
      "WHERE place > 1 AND low > 1 AND high > 1 AND step != ?5)");
  thin.Put(series.id, series.from, until, stretch, series.latest_step);
  thin.Run();
  if (database_.Changes() > 0 && !std::exchange(job_->lost_points, true) && SayThinned(wish))
    piece.thinned.push_back(job_->id);
  series.from = until;
  if (!goes_on) job_->left.pop_front();
  return std::max<int64_t>(count, 1);
}

// Before a restart it may have been said.
bool PointThinner::SayThinned(const ThinningWish& wish) {
  Statement& event = database_.Prepared(
      "INSERT INTO events (job, at, text) SELECT ?1, ?2, ?3 "
      "WHERE NOT EXISTS (SELECT 1 FROM events WHERE job = ?1 AND text = ?3)");
  event.Put(job_->id.value, wish.now, kThinnedText);
  event.Run();
  return database_.Changes() > 0;
}

void PointThinner::End(const ThinningWish& wish) {
  Statement& mark = database_.Prepared("INSERT OR IGNORE INTO thinned (job, at) VALUES (?, ?)");
  mark.Put(job_->id.value, wish.now);
  mark.Run();
  job_.reset();
}

}  // namespace trainctl::store
