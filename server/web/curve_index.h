// Curves of whole runs, kept between questions. An open page asks for each every few seconds, and
// only the points that came since then are read.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "common/rank/metric.h"
#include "server/store/reader.h"
#include "server/web/curve_reads.h"

namespace trainctl::web {

// Not thread-safe: of the read thread.
class CurveIndex {
 public:
  static constexpr size_t kMostKept = 1000;  // curves; those not asked for the longest go

  // As if all points were read anew. kNotFound; kInvalid: a group; kIo.
  base::Result<Curves> Read(store::Reader& reader, const CurveQuestion& question);

  int64_t points_read() const { return points_read_; }  // from the store, in all

 private:
  struct Key {
    base::JobId job;
    std::string metric;
    int64_t buckets = 0;
    auto operator<=>(const Key&) const = default;
  };
  // The newest step may be told anew, with another value: it is no part of the curve yet.
  struct Growing {
    RankCurve known;
    job::MetricPoint newest;
  };
  struct Kept {
    std::vector<Growing> curves;
    int64_t left_out = 0;
    int64_t attempt = 0;
    // The last step that may be of an earlier attempt: this one replaces points up to there.
    std::optional<int64_t> earlier;
    bool is_settled = false;  // only steps behind the newest are going to come
    int64_t asked = 0;        // the number of the question
  };

  base::Status ReadAnew(store::Reader& reader, base::JobId job, const CurveQuestion& question,
                        Kept* kept);
  // After all was read anew: a curve beyond all earlier attempts is of this one alone.
  static void Settle(Kept* kept);
  // Adds what is behind the curves. false: a curve is new, and its beginning is not known.
  base::Result<bool> ReadOn(store::Reader& reader, base::JobId job, const CurveQuestion& question,
                            Kept* kept);
  void Forget();

  std::map<Key, Kept> kept_;
  int64_t questions_ = 0;
  int64_t points_read_ = 0;
};

}  // namespace trainctl::web
