#include "server/web/curve_index.h"

#include <algorithm>
#include <ranges>
#include <span>
#include <utility>

#include "server/coordinator/questions.h"

namespace trainctl::web {
namespace {

constexpr size_t kMostCurves = 128;

bool Continues(const RankCurve& curve, const job::MetricPoint& point) {
  return curve.rank == point.rank && curve.phase == point.phase;
}

bool IsWhole(const CurveQuestion& question) {
  return question == CurveQuestion{question.job, question.metric, question.buckets};
}

}  // namespace

base::Result<Curves> CurveIndex::Read(store::Reader& reader, const CurveQuestion& question) {
  const auto job = coordinator::ReadOneJob(reader, question.job);
  if (!job) return job.error();
  Kept part;
  Kept& kept = IsWhole(question) ? kept_[{job->row.id, question.metric, question.buckets}] : part;
  kept.asked = ++questions_;
  base::Result<bool> goes_on = false;
  if (kept.attempt != job->status.attempt)
    kept = Kept{.attempt = job->status.attempt, .asked = kept.asked};
  if (kept.is_settled) goes_on = ReadOn(reader, job->row.id, question, &kept);
  base::Status read = base::Ok();
  if (!goes_on) {
    read = goes_on.error();
  } else if (!*goes_on) {
    read = ReadAnew(reader, job->row.id, question, &kept);
  }
  if (!read) {
    kept.is_settled = false;  // how far it came is not known
    return read.error();
  }
  Curves answer{job->row.id, job->row.spec.name, question.metric,
                {},          kept.left_out,      job->status.started_at};
  for (const Growing& one : kept.curves)
    answer.curves.emplace_back(one.known).curve.Add(one.newest);
  Forget();
  return answer;
}

base::Status CurveIndex::ReadAnew(store::Reader& reader, base::JobId job,
                                  const CurveQuestion& question, Kept* kept) {
  const RankCurve empty{std::nullopt, std::nullopt, Curve(static_cast<size_t>(question.buckets))};
  kept->curves.clear();
  kept->left_out = 0;
  RankCurve current = empty;
  std::optional<job::MetricPoint> newest;
  const auto keep = [&] {
    if (!newest) return;
    if (kept->curves.size() < kMostCurves) {
      kept->curves.push_back({std::move(current), std::move(*newest)});
    } else {
      ++kept->left_out;
    }
  };
  store::MetricFilter filter{{question.metric}, std::nullopt};
  filter.first_step = question.first_step;
  filter.last_step = question.last_step;
  base::Status read = reader.Points(job, filter, [&](std::span<const job::MetricPoint> points) {
    points_read_ += static_cast<int64_t>(points.size());
    for (const job::MetricPoint& point : points) {
      if (newest && !Continues(current, point)) {
        keep();
        current = empty;
        newest.reset();
      }
      if (newest) current.curve.Add(*newest);
      current.rank = point.rank;
      current.phase = point.phase;
      newest = point;
    }
    return true;
  });
  keep();
  Settle(kept);
  return read;
}

void CurveIndex::Settle(Kept* kept) {
  const auto newest = [](const Growing& one) { return one.newest.step; };
  if (kept->curves.empty()) return;
  const auto [least, most] = std::ranges::minmax(kept->curves | std::views::transform(newest));
  kept->is_settled = kept->attempt <= 1 || (kept->earlier && least > *kept->earlier);
  if (!kept->earlier) kept->earlier = most;
}

base::Result<bool> CurveIndex::ReadOn(store::Reader& reader, base::JobId job,
                                      const CurveQuestion& question, Kept* kept) {
  store::MetricFilter filter{{question.metric}, std::nullopt};
  filter.first_step = std::ranges::min(kept->curves, {}, [](const Growing& one) {
                        return one.newest.step;
                      }).newest.step;
  Growing* current = &kept->curves.front();
  bool all_known = true;
  const base::Status read =
      reader.Points(job, filter, [&](std::span<const job::MetricPoint> points) {
        points_read_ += static_cast<int64_t>(points.size());
        for (const job::MetricPoint& point : points) {
          if (!Continues(current->known, point)) {
            const auto known = std::ranges::find_if(
                kept->curves, [&](const Growing& one) { return Continues(one.known, point); });
            if (known == kept->curves.end()) {
              all_known = all_known && kept->left_out > 0;
              continue;
            }
            current = &*known;
          }
          if (point.step > current->newest.step) current->known.curve.Add(current->newest);
          if (point.step >= current->newest.step) current->newest = point;
        }
        return all_known;
      });
  if (!read) return read.error();
  return all_known;
}

void CurveIndex::Forget() {
  size_t count = 0;
  for (const auto& [key, kept] : kept_) count += kept.curves.size() + 1;
  while (count > kMostKept && kept_.size() > 1) {
    const auto oldest =
        std::ranges::min_element(kept_, {}, [](const auto& one) { return one.second.asked; });
    count -= oldest->second.curves.size() + 1;
    kept_.erase(oldest);
  }
}

}  // namespace trainctl::web
