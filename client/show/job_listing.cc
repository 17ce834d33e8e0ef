#include "client/show/job_listing.h"

#include <algorithm>
#include <utility>

#include "client/show/calendar_time.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "common/base/size.h"

namespace trainctl::client {
namespace {

std::string StepText(const v1::JobView& view) {
  if (view.steps() == 0 && view.step() == 0) return "";
  return view.steps() > 0 ? WithThousands(view.step()) + "/" + WithThousands(view.steps())
                          : WithThousands(view.step());
}

// Why it waits, where it runs, or why it ended so.
std::string WhereOrWhy(const v1::JobView& view) {
  const std::string place = PlacementText(view);
  if (Succeeded(view)) return place;
  const std::string why = InLocalTime(HasEnded(view) ? view.message() : view.reason());
  if (place.empty() || why.empty()) return place.empty() ? why : place;
  return place + ": " + why;
}

TextCell StateCell(const v1::JobView& view) {
  std::string text = view.outcome().empty() ? view.state() : view.outcome();
  if (view.has_as_expected()) text += view.as_expected() ? " (as expected)" : " (not as expected)";
  return {std::move(text), OutcomeStyle(view)};
}

}  // namespace

Style OutcomeStyle(const v1::JobView& view) {
  if (view.has_as_expected()) return view.as_expected() ? Style::kGood : Style::kBad;
  if (Succeeded(view)) return Style::kGood;
  if (OutcomeOf(view) == job::Outcome::kCancelled || StateOf(view) == job::JobState::kStopping)
    return Style::kWarning;
  if (!view.outcome().empty()) return Style::kBad;
  return StateOf(view) == job::JobState::kQueued ? Style::kFaint : Style::kPlain;
}

double ElapsedSeconds(const v1::JobView& view, int64_t now) {
  if (view.started_at() == 0) return 0;
  const int64_t end = view.ended_at() != 0 ? view.ended_at() : now;
  return static_cast<double>(std::max<int64_t>(0, end - view.started_at())) / 1e6;
}

std::string PlacementText(const v1::JobView& view) {
  std::vector<std::pair<std::string, std::string>> hosts;
  for (const std::string& place : view.placement()) {
    const size_t slash = place.rfind('/');
    const std::string host = place.substr(0, slash);
    const std::string device = slash == std::string::npos ? "" : place.substr(slash + 1);
    if (hosts.empty() || hosts.back().first != host) {
      hosts.emplace_back(host, device);
    } else {
      hosts.back().second += "," + device;
    }
  }
  std::string text;
  for (const auto& [host, devices] : hosts)
    text += (text.empty() ? "" : " ") + host + (devices.empty() ? "" : "/" + devices);
  return text.empty() || !view.exclusive() ? text : text + " (exclusive)";
}

Listing ListJobs(const std::vector<v1::JobView>& views, int64_t now) {
  Listing listing{.collection = "jobs",
                  .table = TextTable({{"ID"},
                                      {.header = "NAME", .cut = true},
                                      {"STATE"},
                                      {"STEP", true},
                                      {"LOSS", true},
                                      {.header = "TOKENS/S", .right = true, .goes = 1},
                                      {.header = "PEAK", .right = true, .goes = 2},
                                      {"TIME", true},
                                      {"LEFT", true},
                                      {"WHERE OR WHY"}})};
  for (const v1::JobView& view : views) {
    listing.records.push_back(JobRecord(view));
    listing.table.AddRow(
        {view.id(), view.name(), StateCell(view), StepText(view),
         view.has_loss() ? FormatNumber(view.loss()) : "",
         view.has_tokens_per_second() ? FormatNumber(view.tokens_per_second()) : "",
         view.peak_allocated_bytes() > 0 ? base::FormatBytes(view.peak_allocated_bytes()) : "",
         view.started_at() != 0 ? FormatClock(ElapsedSeconds(view, now)) : "",
         view.remaining_seconds() > 0 ? FormatClock(view.remaining_seconds()) : "",
         WhereOrWhy(view)});
  }
  return listing;
}

}  // namespace trainctl::client
