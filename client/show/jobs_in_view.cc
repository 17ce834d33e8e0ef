#include "client/show/jobs_in_view.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"

namespace trainctl::client {
namespace {

int LinesOf(const std::string& text) { return static_cast<int>(std::ranges::count(text, '\n')); }

// Places in `views`, the most wanted first.
std::vector<size_t> ByWant(const std::vector<v1::JobView>& views) {
  std::vector<size_t> places(views.size());
  std::iota(places.begin(), places.end(), size_t{0});
  std::ranges::stable_sort(places, {}, [&views](size_t place) {
    const v1::JobView& view = views[place];
    const bool runs = StateOf(view) != job::JobState::kQueued && !HasEnded(view);
    return std::tuple(!runs, -view.submitted_at());
  });
  return places;
}

std::string Table(const std::vector<v1::JobView>& views, std::vector<size_t> places, int64_t now,
                  const TableLayout& layout) {
  std::ranges::sort(places);
  std::vector<v1::JobView> kept;
  for (const size_t place : places) kept.push_back(views[place]);
  return ListJobs(kept, now).table.Render(layout);
}

}  // namespace

std::string JobsInView(const std::vector<v1::JobView>& views, int64_t now,
                       const TableLayout& layout, int lines) {
  std::vector<size_t> places = ByWant(views);
  if (lines > 0) places.resize(std::min(places.size(), static_cast<size_t>(lines)));
  std::string text = Table(views, places, now, layout);
  if (lines == 0) return text;
  // A job may take several lines.
  const auto fits = [&] {
    const bool all = places.size() == views.size();
    return LinesOf(text) + (all ? 0 : 1) <= lines;
  };
  while (places.size() > 1 && !fits()) {
    places.pop_back();
    text = Table(views, places, now, layout);
  }
  if (places.size() == views.size()) return text;
  return text + "and " + Plural(static_cast<int64_t>(views.size() - places.size()), "older job") +
         ", for which the terminal is not high enough\n";
}

}  // namespace trainctl::client
