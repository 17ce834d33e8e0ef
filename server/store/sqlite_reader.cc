#include <algorithm>

#include "common/rank/reduction.h"
#include "server/store/database.h"
#include "server/store/row_columns.h"
#include "server/store/sqlite_store.h"

namespace trainctl::store {
namespace {

constexpr size_t kPiece = 4096;  // points handed over at once

class SqliteReader : public Reader {
 public:
  explicit SqliteReader(std::unique_ptr<Database> database) : database_(std::move(database)) {}

  base::Result<std::optional<StoredSubmission>> FindSubmission(
      std::string_view request_id) override {
    Statement& statement = Query("SELECT group_id FROM submissions WHERE request_id = ?");
    statement.Put(request_id);
    std::optional<StoredSubmission> found;
    while (statement.Next()) statement.Get(found.emplace().group.value);
    if (found)
      found->jobs = JobsOf("SELECT id FROM jobs WHERE request_id = ? ORDER BY id", request_id);
    return Answer(std::move(found));
  }

  base::Result<Found> Find(std::string_view id_or_name) override {
    if (const auto job = base::ParseJobId(id_or_name)) {
      Found found;
      found.jobs = JobsOf("SELECT id FROM jobs WHERE id = ?", job->value);
      if (!found.jobs.empty()) return Answer(std::move(found));
    }
    if (const auto group = base::ParseGroupId(id_or_name)) {
      Found found = GroupOf("SELECT id, name FROM groups WHERE id = ?", group->value);
      if (found.group) return Answer(std::move(found));
    }
    Found found =
        GroupOf("SELECT id, name FROM groups WHERE name = ? ORDER BY id DESC LIMIT 1", id_or_name);
    if (!found.group)
      found.jobs =
          JobsOf("SELECT id FROM jobs WHERE name = ? ORDER BY id DESC LIMIT 1", id_or_name);
    return Answer(std::move(found));
  }

  base::Result<Found> LatestGroup() override {
    return Answer(
        GroupOf("SELECT id, name FROM groups WHERE id >= ? ORDER BY id DESC LIMIT 1", int64_t{0}));
  }

  base::Result<OldLogs> JobsWithOldLogs(base::WallMicros ended_before,
                                        base::JobId behind) override {
    constexpr int64_t kJobsAtOnce = 1'000;
    Statement& statement = Query(
        "SELECT job, state = 'FINISHED' AND ended_at < ?, job IN (SELECT job FROM logs_removed) "
        "FROM job_status WHERE job > ? ORDER BY job LIMIT ?");
    statement.Put(ended_before, behind.value, kJobsAtOnce);
    OldLogs old{.last = behind};
    while (statement.Next()) {
      int64_t is_old = 0, is_marked = 0;
      statement.Get(old.last.value, is_old, is_marked);
      if (is_marked != 0) {
        old.marked.push_back(old.last);
      } else if (is_old != 0) {
        old.jobs.push_back(old.last);
      }
      old.more = true;
    }
    return Answer(std::move(old));
  }

  base::Result<std::vector<base::JobId>> RemovedAmong(const std::set<base::JobId>& jobs) override {
    std::set<base::JobId> missing;
    for (const base::JobId job : jobs)
      if (JobsOf("SELECT id FROM jobs WHERE id = ?", job.value).empty()) missing.insert(job);
    std::vector<base::JobId> removed;
    if (missing.empty()) return Answer(std::move(removed));
    Statement& statement =
        Query("SELECT subject FROM audit WHERE action = ? AND verdict = 'accepted'");
    statement.Put(kRemovesJob);
    while (statement.Next()) {
      std::string subject;
      statement.Get(subject);
      const auto job = base::ParseJobId(subject);
      if (job && missing.contains(*job)) removed.push_back(*job);
    }
    return Answer(std::move(removed));
  }

  base::Result<std::vector<StoredJob>> Jobs(const JobFilter& filter) override {
    Statement statement(*database_, JobsSql(filter));
    if (filter.ended_before > 0) statement.Put(filter.ended_before);
    if (filter.before) statement.Put(filter.before.value);
    for (const job::JobState state : filter.states) statement.Put(job::Name(state));
    for (const job::Outcome outcome : filter.outcomes) statement.Put(job::Name(outcome));
    for (const std::string& user : filter.users) statement.Put(std::string_view(user));
    for (const TagFilter& tag : filter.tags) {
      statement.Put(std::string_view(tag.key));
      if (tag.value) statement.Put(std::string_view(*tag.value));
    }
    for (const base::JobId job : filter.jobs) statement.Put(job.value);
    for (int of_jobs_and_groups = 0; of_jobs_and_groups < 2; ++of_jobs_and_groups) {
      for (const std::string& name : filter.names) statement.Put(std::string_view(name));
    }
    statement.Put(filter.limit);
    std::vector<StoredJob> jobs;
    while (statement.Next()) {
      StoredJob& job = jobs.emplace_back();
      job.row = ReadJob(*database_, statement);
      ColumnReader reader(*database_, statement);
      VisitStatus(job.status, reader);
      reader(job.group_name, job.logs_removed_at);
    }
    for (StoredJob& job : jobs) {
      job.placement = PlacementOf(job);
      job.tokens_per_second = TokensPerSecond(job.row.id);
      if (job.row.unreadable && !job.placement.empty())
        job.row.spec.devices = static_cast<int64_t>(job.placement.size());
    }
    return Answer(std::move(jobs));
  }

  base::Result<JobCounts> CountJobs() override {
    Statement& statement = Query(
        "SELECT state, COALESCE(outcome, ''), COUNT(*) FROM job_status GROUP BY state, outcome");
    JobCounts counts;
    while (statement.Next()) {
      std::string state, outcome;
      int64_t count = 0;
      statement.Get(state, outcome, count);
      if (const auto known = job::ParseJobState(state)) counts.states[*known] += count;
      if (const auto known = job::ParseOutcome(outcome)) counts.outcomes[*known] += count;
    }
    return Answer(std::move(counts));
  }

  base::Result<std::vector<StoredAttempt>> Attempts(base::JobId job) override {
    Statement statement(*database_, "SELECT " + std::string(kAttemptColumns) +
                                        " FROM attempts WHERE job = ? ORDER BY attempt");
    statement.Put(job.value);
    std::vector<StoredAttempt> attempts;
    while (statement.Next())
      VisitAttempt(attempts.emplace_back().row, ColumnReader(*database_, statement));
    Statement ranks(*database_, "SELECT " + std::string(kRankColumns) +
                                    " FROM ranks WHERE job = ? AND attempt = ? ORDER BY rank");
    for (StoredAttempt& attempt : attempts) {
      ranks.Put(job.value, attempt.row.attempt);
      while (ranks.Next()) VisitRank(attempt.ranks.emplace_back(), ColumnReader(*database_, ranks));
    }
    return Answer(std::move(attempts));
  }

  base::Result<std::vector<core::EventRow>> Events(base::JobId job) override {
    Statement& statement = Query("SELECT at, text FROM events WHERE job = ? ORDER BY at, id");
    statement.Put(job.value);
    std::vector<core::EventRow> events;
    while (statement.Next()) {
      core::EventRow& event = events.emplace_back(core::EventRow{job, 0, ""});
      statement.Get(event.at, event.text);
    }
    return Answer(std::move(events));
  }

  base::Result<std::vector<core::ArtefactRow>> Artefacts(base::JobId job) override {
    Statement& statement = Query(
        "SELECT attempt, rank, kind, path, bytes, at, record FROM artefacts WHERE job = ? "
        "ORDER BY id");
    statement.Put(job.value);
    std::vector<core::ArtefactRow> artefacts;
    while (statement.Next()) {
      core::ArtefactRow& row = artefacts.emplace_back();
      row.key.job = job;
      statement.Get(row.key.attempt, row.key.rank, row.saved.kind, row.saved.path, row.saved.bytes,
                    row.at, row.saved.record);
    }
    return Answer(std::move(artefacts));
  }

  base::Result<std::vector<job::RankContinuation>> Continuations(
      base::JobId job, const TextsQuestion& question) override {
    Statement& statement = Query(
        "SELECT step, place, prompt, text FROM continuations WHERE job = ?1 AND (?2 OR step IN "
        "(COALESCE(?3, (SELECT MIN(step) FROM continuations WHERE job = ?1)), "
        "COALESCE(?3, (SELECT MAX(step) FROM continuations WHERE job = ?1)))) "
        "ORDER BY step, place");
    statement.Put(job.value, int64_t{question.all});
    if (question.step) {
      statement.Put(*question.step);
    } else {
      statement.PutNull();
    }
    std::vector<job::RankContinuation> said;
    while (statement.Next()) {
      job::RankContinuation& row = said.emplace_back();
      statement.Get(row.step, row.place, row.prompt, row.text);
    }
    return Answer(std::move(said));
  }

  base::Result<std::vector<int64_t>> TextSteps(base::JobId job) override {
    Statement& statement =
        Query("SELECT DISTINCT step FROM continuations WHERE job = ? ORDER BY step");
    statement.Put(job.value);
    std::vector<int64_t> steps;
    while (statement.Next()) statement.Get(steps.emplace_back());
    return Answer(std::move(steps));
  }

  base::Result<std::vector<JobOutput>> OutputsOfOthers(std::string_view user) override {
    Statement& statement = Query(
        "SELECT jobs.id, user, "
        "json_extract(CASE WHEN json_valid(spec) THEN spec ELSE '{}' END, '$.output.dir') AS folder"
        " FROM jobs JOIN job_status ON job = jobs.id "
        "WHERE (attempt > 0 OR state != 'FINISHED') AND user != ? AND folder IS NOT NULL "
        "ORDER BY jobs.id DESC");
    statement.Put(user);
    std::vector<JobOutput> outputs;
    while (statement.Next()) {
      JobOutput& output = outputs.emplace_back();
      statement.Get(output.job.value, output.user, output.folder);
    }
    return Answer(std::move(outputs));
  }

  base::Result<std::vector<core::UseRow>> UseSince(base::WallMicros since) override {
    Statement& statement = Query(
        "SELECT user, (SELECT COALESCE(SUM(held_devices), 0) FROM ranks "
        "WHERE ranks.job = attempts.job AND ranks.attempt = attempts.attempt), placed_at, ended_at "
        "FROM attempts "
        "JOIN jobs ON id = job WHERE ended_at >= ?1 AND ended_at > 0 UNION ALL "
        "SELECT user, devices, placed_at, ended_at FROM removed_use WHERE ended_at >= ?1 "
        "UNION ALL SELECT user, (SELECT COUNT(*) FROM lease_workers WHERE lease = id), start_at, "
        "end_at FROM leases WHERE over_at != 0 AND end_at >= ?1 AND end_at > start_at");
    statement.Put(since);
    std::vector<core::UseRow> use;
    while (statement.Next()) {
      core::UseRow& row = use.emplace_back();
      statement.Get(row.user, row.devices, row.from, row.to);
    }
    return Answer(std::move(use));
  }

  base::Result<std::vector<core::WorkerRow>> Workers() override {
    Statement statement(*database_,
                        "SELECT " + std::string(kWorkerColumns) + " FROM workers ORDER BY name");
    std::vector<core::WorkerRow> workers;
    while (statement.Next())
      VisitWorker(workers.emplace_back(), ColumnReader(*database_, statement));
    return Answer(std::move(workers));
  }

  base::Result<std::vector<job::Neighbour>> Neighbours(base::JobId job) override {
    Statement& statement = Query(kNeighboursSql);
    statement.Put(job.value);
    std::vector<job::Neighbour> neighbours;
    while (statement.Next()) {
      job::Neighbour& neighbour = neighbours.emplace_back();
      int64_t on_slots = 0;
      statement.Get(neighbour.host, neighbour.job.value, on_slots);
      neighbour.on_slots = on_slots != 0;
    }
    return Answer(std::move(neighbours));
  }

  base::Result<std::vector<job::MetricSummary>> Summaries(base::JobId job) override {
    Statement& statement = Query("SELECT " + std::string(kSummaryColumns) +
                                 " FROM series WHERE job = ? ORDER BY name, rank, phase");
    statement.Put(job.value);
    return Answer(ReadSummaries(statement));
  }

  base::Status Points(base::JobId job, const MetricFilter& filter,
                      const TakePoints& take) override {
    Statement& statement = Query(
        "SELECT step, value, time FROM points WHERE series = ? AND step BETWEEN ? AND ? ORDER BY "
        "step");
    std::vector<job::MetricPoint> piece;
    for (const Series& series : SeriesOf(job, filter)) {
      statement.Put(series.id, series.first_step, filter.last_step);
      while (statement.Next()) {
        job::MetricPoint& point = piece.emplace_back(series.name_of_points);
        statement.Get(point.step, point.value, point.time);
        if (piece.size() < kPiece) continue;
        if (!take(piece)) return Stop(statement);
        piece.clear();
      }
    }
    if (!piece.empty() && database_->ok()) take(piece);
    return database_->TakeStatus();
  }

  base::Result<std::vector<AuditRow>> Audit(int64_t limit, int64_t before) override {
    Statement& statement = Query(
        "SELECT at, actor, action, subject, address, verdict, id FROM audit "
        "WHERE ? = 0 OR id < ? ORDER BY id DESC LIMIT ?");
    statement.Put(before, before, limit);
    std::vector<AuditRow> rows;
    while (statement.Next()) {
      AuditRow& row = rows.emplace_back();
      statement.Get(row.at, row.actor, row.action, row.subject, row.address, row.verdict, row.id);
    }
    return Answer(std::move(rows));
  }

 private:
  Statement& Query(std::string_view sql) { return database_->Prepared(sql); }

  template <class T>
  base::Result<T> Answer(T value) {
    base::Status status = database_->TakeStatus();
    if (!status.ok()) return status.error();
    return value;
  }

  base::Status Stop(Statement& statement) {
    statement.Reset();
    return database_->TakeStatus();
  }

  template <class T>
  std::vector<base::JobId> JobsOf(std::string_view sql, const T& parameter) {
    Statement& statement = Query(sql);
    statement.Put(parameter);
    std::vector<base::JobId> jobs;
    while (statement.Next()) statement.Get(jobs.emplace_back().value);
    return jobs;
  }

  template <class T>
  Found GroupOf(std::string_view sql, const T& parameter) {
    Statement& statement = Query(sql);
    statement.Put(parameter);
    Found found;
    while (statement.Next()) statement.Get(found.group.value, found.group_name);
    if (found.group)
      found.jobs = JobsOf("SELECT id FROM jobs WHERE group_id = ? AND group_id != 0 ORDER BY id",
                          found.group.value);
    return found;
  }

  static std::string JobsSql(const JobFilter& filter) {
    std::string sql = "SELECT jobs." + std::string(kJobColumns) + ", " + kStatusColumns +
                      ", IFNULL((SELECT groups.name FROM groups WHERE groups.id = group_id), ''),"
                      " IFNULL((SELECT at FROM logs_removed WHERE logs_removed.job = jobs.id), 0)"
                      " FROM jobs JOIN job_status ON job = jobs.id WHERE TRUE";
    if (filter.unfinished_only) sql += " AND state != 'FINISHED'";
    if (filter.ended_before > 0) sql += " AND state = 'FINISHED' AND ended_at < ?";
    if (filter.before) sql += " AND jobs.id < ?";
    if (!filter.states.empty() || !filter.outcomes.empty()) {
      sql += " AND (state IN (" + Parameters(filter.states.size()) + ") OR outcome IN (" +
             Parameters(filter.outcomes.size()) + "))";
    }
    if (!filter.users.empty()) sql += " AND user IN (" + Parameters(filter.users.size()) + ")";
    for (const TagFilter& tag : filter.tags) {
      sql +=
          " AND EXISTS (SELECT 1 FROM json_each(CASE WHEN json_valid(spec) THEN spec ELSE '{}' "
          "END, '$.tags') WHERE key = ?" +
          std::string(tag.value ? " AND value = ?)" : ")");
    }
    if (!filter.jobs.empty()) sql += " AND jobs.id IN (" + Parameters(filter.jobs.size()) + ")";
    if (const std::string names = Parameters(filter.names.size()); !filter.names.empty()) {
      sql += " AND (jobs.name IN (" + names +
             ") OR group_id IN (SELECT id FROM groups WHERE name IN (" + names + ")))";
    }
    return sql + " ORDER BY jobs.id DESC LIMIT ?";
  }

  static std::string Parameters(size_t count) {
    std::string text;
    for (size_t i = 0; i < count; ++i) text += i == 0 ? "?" : ", ?";
    return text;
  }

  std::vector<std::string> PlacementOf(const StoredJob& job) {
    Statement& statement =
        Query("SELECT worker FROM ranks WHERE job = ? AND attempt = ? ORDER BY rank");
    statement.Put(job.row.id.value, job.status.attempt);
    std::vector<std::string> workers;
    while (statement.Next()) statement.Get(workers.emplace_back());
    return workers;
  }

  static constexpr const char* kSummaryColumns =
      "name, rank, phase, latest, minimum, maximum, total, count";

  std::vector<job::MetricSummary> ReadSummaries(Statement& statement) {
    std::vector<job::MetricSummary> summaries;
    while (statement.Next()) {
      job::MetricSummary& summary = summaries.emplace_back();
      int64_t rank = 0;
      ColumnReader(*database_, statement)(summary.name, rank, summary.phase, summary.latest,
                                          summary.min, summary.max, summary.total, summary.count);
      if (rank >= 0) summary.rank = rank;
    }
    return summaries;
  }

  // Of a listing's job: two rows of an index.
  std::optional<double> TokensPerSecond(base::JobId job) {
    Statement& statement =
        Query("SELECT " + std::string(kSummaryColumns) +
              " FROM series WHERE job = ? AND rank = -1 AND phase = '' AND name IN (?, ?)");
    statement.Put(job.value, job::Name(job::Metric::kTokens), job::Name(job::Metric::kStepSeconds));
    const auto rate = job::Reduce(job::Metric::kTokensPerSecond, ReadSummaries(statement));
    return rate ? std::optional(rate->value) : std::nullopt;
  }

  struct Series {
    int64_t id = 0;
    job::MetricPoint name_of_points;  // name, rank and phase
    int64_t first_step = 0;
  };

  std::vector<Series> SeriesOf(base::JobId job, const MetricFilter& filter) {
    Statement& statement =
        Query("SELECT id, name, rank, phase FROM series WHERE job = ? ORDER BY name, rank, phase");
    statement.Put(job.value);
    std::vector<Series> found;
    while (statement.Next()) {
      Series series;
      int64_t rank = 0;
      ColumnReader(*database_, statement)(series.id, series.name_of_points.name, rank,
                                          series.name_of_points.phase);
      if (rank >= 0) series.name_of_points.rank = rank;
      if (!Passes(filter, series.name_of_points)) continue;
      series.first_step = filter.first_step;
      if (filter.behind && IsSeriesOf(series, *filter.behind)) {
        series.first_step = std::max(filter.first_step, filter.behind->step + 1);
        found.clear();
      }
      found.push_back(std::move(series));
    }
    return found;
  }

  static bool IsSeriesOf(const Series& series, const job::MetricPoint& point) {
    const job::MetricPoint& name = series.name_of_points;
    return name.name == point.name && name.rank == point.rank && name.phase == point.phase;
  }

  static bool Passes(const MetricFilter& filter, const job::MetricPoint& point) {
    const bool has_name =
        filter.names.empty() ||
        std::find(filter.names.begin(), filter.names.end(), point.name) != filter.names.end();
    return has_name && (!filter.rank || filter.rank == point.rank);
  }

  std::unique_ptr<Database> database_;
};

}  // namespace

base::Result<std::unique_ptr<Reader>> OpenSqliteReader(const std::string& directory) {
  auto database = Database::Open(DatabasePath(directory), Database::Mode::kRead);
  if (!database.ok()) return database.error();
  return std::unique_ptr<Reader>(std::make_unique<SqliteReader>(std::move(*database)));
}

}  // namespace trainctl::store
