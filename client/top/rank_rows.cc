#include "client/top/rank_rows.h"

#include <algorithm>

#include "client/show/attempt_text.h"
#include "client/show/calendar_time.h"
#include "client/show/format.h"
#include "client/top/device_rows.h"
#include "client/top/grid.h"

namespace trainctl::client {
namespace {

const v1::WorkerView* WorkerOf(const SiteView& site, const std::string& name) {
  const auto found = std::ranges::find(site.workers, name, &v1::WorkerView::name);
  return found == site.workers.end() ? nullptr : &*found;
}

}  // namespace

std::vector<std::string> RankRows(const v1::JobDetail& detail, const SiteView& site,
                                  const Paper& paper, int most) {
  if (detail.attempts().empty()) return {};
  RowGrid grid({{.header = "RANK", .right = true, .least = 4},
                {.header = "DEVICE", .least = 8, .cut = true},
                {.header = "PHASE", .least = 10},
                {.header = "STEP", .right = true, .least = 5},
                {.header = "LOAD"},
                {.header = "MEMORY", .right = true, .least = 14},
                {.header = "PID", .right = true, .goes = 2},
                {.header = "MODEL", .least = 8, .cut = true, .goes = 1}});
  const v1::AttemptView& attempt = *detail.attempts().rbegin();
  const int count = attempt.ranks_size();
  const int shown = most <= 0 || count < most ? count : std::max(0, most - 2);
  for (int i = 0; i < shown; ++i) {
    const v1::RankView& rank = attempt.ranks(i);
    const v1::WorkerView* worker = WorkerOf(site, rank.worker());
    grid.AddRow({std::to_string(rank.rank()), rank.worker(), PhaseText(attempt, rank),
                 WithThousands(rank.step()),
                 worker == nullptr ? "" : DeviceLoadText(*worker, paper),
                 worker == nullptr ? "" : DeviceMemoryText(*worker),
                 rank.pid() > 0 ? std::to_string(rank.pid()) : "", rank.device_name()});
  }
  std::vector<std::string> rows;
  if (shown > 0) rows = grid.Lines({.width = paper.columns, .colour = paper.colour});
  if (shown < count) rows.push_back("… " + Plural(count - shown, "more rank"));
  return rows;
}

std::vector<std::string> EventRows(const v1::JobDetail& detail, const Paper& paper, int most) {
  const int count = detail.events_size();
  std::vector<std::string> rows;
  for (int i = most > 0 ? std::max(0, count - most) : 0; i < count; ++i) {
    const std::string text =
        LocalSecond(detail.events(i).time()) + "  " + OneLine(detail.events(i).text());
    rows.push_back(paper.columns > 0 ? Truncate(text, paper.columns) : text);
  }
  return rows;
}

}  // namespace trainctl::client
