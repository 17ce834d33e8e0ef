#include "server/store/metric_writer.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "server/store/columns.h"

namespace trainctl::store {
namespace {

constexpr size_t kMaxCachedSeries = 100'000;
constexpr int64_t kGang = -1;
constexpr size_t kRowsAtOnce = 16;  // of one statement

std::string InsertOf(size_t rows) {
  std::string sql =
      "INSERT OR REPLACE INTO points (series, step, attempt, value, time) VALUES (?, ?, ?, ?, ?)";
  for (size_t row = 1; row < rows; ++row) sql += ", (?, ?, ?, ?, ?)";
  return sql;
}

}  // namespace

void MetricWriter::Write(const core::MetricRows& rows) {
  std::vector<Row> written;
  written.reserve(rows.points.size());
  for (const job::MetricPoint& point : rows.points) {
    Series& series = Find(rows.key, point);
    if (series.attempt > rows.key.attempt) continue;
    if (series.attempt < rows.key.attempt) BeginAttempt(series, rows.key.attempt);
    const double value = point.value + (series.is_counter ? series.total : 0);
    written.push_back({series.id, point.step, value, point.time});
    Add(series, point.step, value);
    Touch(series);
  }
  // Points of one series lie beside each other: the later of one step stays the later.
  std::ranges::stable_sort(written, {}, &Row::series);
  Insert(written, rows.key.attempt);
}

void MetricWriter::Insert(std::span<const Row> rows, int64_t attempt) {
  static const std::string kMany = InsertOf(kRowsAtOnce), kOne = InsertOf(1);
  while (!rows.empty()) {
    const size_t count = rows.size() < kRowsAtOnce ? 1 : kRowsAtOnce;
    Statement& insert = database_.Prepared(count == 1 ? kOne : kMany);
    for (const Row& row : rows.first(count))
      insert.Put(row.series, row.step, attempt, row.value, row.time);
    insert.Run();
    rows = rows.subspan(count);
  }
}

void MetricWriter::WriteSummaries() {
  Statement& update = database_.Prepared(
      "UPDATE series SET attempt = ?, latest_step = ?, latest = ?, minimum = ?, maximum = ?, total "
      "= ?, count = ? WHERE id = ?");
  for (Series* series : unwritten_) {
    update.Put(series->attempt, series->latest_step, series->latest, series->minimum,
               series->maximum, series->total, series->count);
    update.Put(series->id);
    update.Run();
    series->is_written = true;
  }
  unwritten_.clear();
  if (series_.size() > kMaxCachedSeries) series_.clear();
}

void MetricWriter::Forget() {
  unwritten_.clear();
  series_.clear();
}

MetricWriter::Series& MetricWriter::Find(const job::RankKey& rank, const job::MetricPoint& point) {
  return Find(std::tuple(rank.job.value, point.rank.value_or(kGang), std::string_view(point.name),
                         point.phase),
              rank.attempt);
}

template <class AnyKey>
MetricWriter::Series& MetricWriter::Find(const AnyKey& key, int64_t attempt) {
  const auto found = series_.find(key);
  if (found != series_.end()) return found->second;
  const Key own(key);
  return series_.emplace(own, Load(own, attempt)).first->second;
}

MetricWriter::Series MetricWriter::Load(const Key& key, int64_t attempt) {
  const auto& [job, rank, name, phase] = key;
  Statement& insert = database_.Prepared(
      "INSERT OR IGNORE INTO series (job, name, rank, phase, attempt, latest_step, total, count) "
      "VALUES (?, ?, ?, ?, ?, -1, 0, 0)");
  ColumnWriter{insert}(job, name, rank, phase, attempt);
  insert.Run();
  Statement& select = database_.Prepared(
      "SELECT id, attempt, latest_step, latest, minimum, maximum, total, count FROM series "
      "WHERE job = ? AND name = ? AND rank = ? AND phase = ?");
  ColumnWriter{select}(job, name, rank, phase);
  const job::MetricInfo* info = job::FindMetric(name);
  Series series;
  series.is_counter = info != nullptr && info->reduction == job::Reduction::kCounter;
  while (select.Next()) {
    select.Get(series.id, series.attempt, series.latest_step, series.latest, series.minimum,
               series.maximum, series.total, series.count);
  }
  return series;
}

std::vector<MetricWriter::Series*> MetricWriter::RewoundSeriesOf(base::JobId job) {
  std::vector<Key> keys;
  Statement& select = database_.Prepared("SELECT rank, name, phase FROM series WHERE job = ?");
  select.Put(job.value);
  while (select.Next()) {
    auto& [of_job, rank, name, phase] = keys.emplace_back();
    of_job = job.value;
    ColumnReader(database_, select)(rank, name, phase);
    const job::MetricInfo* info = job::FindMetric(name);
    if (info != nullptr && info->is_of_trial) keys.pop_back();
  }
  std::vector<Series*> all;
  for (const Key& key : keys) all.push_back(&Find(key, 0));
  return all;
}

void MetricWriter::Touch(Series& series) {
  if (series.is_written) unwritten_.push_back(&series);
  series.is_written = false;
}

void MetricWriter::BeginAttempt(Series& series, int64_t attempt) {
  series.attempt = attempt;
  series.latest_step = -1;
  if (series.is_counter) series.total = series.maximum;
}

void MetricWriter::Rewind(const core::RewindRow& row) {
  Statement& remove =
      database_.Prepared("DELETE FROM points WHERE series = ? AND step >= ? AND attempt < ?");
  for (Series* series : RewoundSeriesOf(row.job)) {
    if (series->attempt > row.attempt) continue;
    remove.Put(series->id, row.step, row.attempt);
    remove.Run();
    if (series->attempt < row.attempt) BeginAttempt(*series, row.attempt);
    if (!series->is_counter) Summarize(*series);
    Touch(*series);
  }
}

void MetricWriter::Summarize(Series& series) {
  Statement& select = database_.Prepared(
      "SELECT MIN(value), MAX(value), TOTAL(value), COUNT(value) FROM points WHERE series = ?");
  select.Put(series.id);
  while (select.Next()) select.Get(series.minimum, series.maximum, series.total, series.count);
  Statement& last = database_.Prepared(
      "SELECT step, value FROM points WHERE series = ? ORDER BY step DESC LIMIT 1");
  last.Put(series.id);
  while (last.Next()) last.Get(series.latest_step, series.latest);
}

void MetricWriter::Add(Series& series, int64_t step, double value) {
  if (step >= series.latest_step) {
    series.latest_step = step;
    series.latest = value;
  }
  if (std::isnan(value)) return;
  series.minimum = series.count == 0 ? value : std::min(series.minimum, value);
  series.maximum = series.count == 0 ? value : std::max(series.maximum, value);
  if (!series.is_counter) series.total += value;
  ++series.count;
}

}  // namespace trainctl::store
