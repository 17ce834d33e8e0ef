// Points and the summaries kept at their ingestion, inside a transaction that somebody else opened.
// Internal to this room.
//
// A summary covers every point that came, several of one step (samples within a step) too. NaN
// counts only as `latest`. When a later attempt's first point comes, the summary is made anew from
// the points of the steps before it. So what a restart does again counts once. A counter's points
// (Reduction::kCounter) begin at 0 in each attempt. Stored are those of the whole job, which go on
// from where the attempt before ended; `total` is that. Not thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "server/core/rows.h"
#include "server/store/database.h"

namespace trainctl::store {

class MetricWriter {
 public:
  explicit MetricWriter(Database& database) : database_(database) {}

  void Write(const core::MetricRows& rows);
  // Removes the points, and makes the summaries of what is left.
  void Rewind(const core::RewindRow& row);
  // Of the series that were written since the last call.
  void WriteSummaries();
  // What is remembered is not in the store after all.
  void Forget();

 private:
  // job, rank (-1: the gang), name, phase
  using Key = std::tuple<int64_t, int64_t, std::string, std::optional<job::Phase>>;
  struct Series {
    int64_t id = 0;
    int64_t attempt = 0;
    int64_t latest_step = -1;
    double latest = 0;
    double minimum = 0;
    double maximum = 0;
    double total = 0;
    int64_t count = 0;
    bool is_counter = false;
    bool is_written = true;
  };

  // Of `points`.
  struct Row {
    int64_t series = 0;
    int64_t step = 0;
    double value = 0;
    base::WallMicros time = 0;
  };

  // Many rows a statement: each statement costs about as much as a row.
  void Insert(std::span<const Row> rows, int64_t attempt);
  Series& Find(const job::RankKey& rank, const job::MetricPoint& point);
  // From the cache or the store. attempt: of a series that is new.
  template <class AnyKey>
  Series& Find(const AnyKey& key, int64_t attempt);
  Series Load(const Key& key, int64_t attempt);
  // The job's, of what each attempt tells: a trial is had once.
  std::vector<Series*> RewoundSeriesOf(base::JobId job);
  static void BeginAttempt(Series& series, int64_t attempt);
  // By the points that are there.
  void Summarize(Series& series);
  // Its summary is to be written.
  void Touch(Series& series);
  static void Add(Series& series, int64_t step, double value);

  Database& database_;
  std::map<Key, Series, std::less<>> series_;  // a cache: forgotten whole when it is large
  std::vector<Series*> unwritten_;
};

}  // namespace trainctl::store
