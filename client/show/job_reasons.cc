#include "client/show/job_reasons.h"

#include <algorithm>
#include <set>
#include <vector>

#include "client/show/attempt_text.h"
#include "client/show/calendar_time.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/show/job_text.h"
#include "common/job/job_json.h"

namespace trainctl::client {
namespace {

std::string Fact(const std::string& label, const std::string& text, const TableLayout& layout) {
  constexpr int kLabelWidth = 10;
  return LabelledLine(label, kLabelWidth, text, layout.width);
}

std::string Ago(int64_t since, int64_t now) {
  const double seconds = static_cast<double>(now - since) / 1e6;
  return FormatClock(seconds < 0 ? 0 : seconds) + ", since " + LocalMoment(since);
}

// "SUCCEEDED, not as expected (OOM)".
std::string OutcomeText(const v1::JobDetail& detail) {
  const v1::JobView& view = detail.view();
  if (!view.has_as_expected()) return view.outcome();
  const base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
  const bool is_known = job.ok() && job->expect.has_value();
  const std::string expected = !is_known                           ? ""
                               : *job->expect == job::Expect::kOom ? " (OOM)"
                                                                   : " (SUCCEEDED)";
  return view.outcome() + (view.as_expected() ? " as expected" : ", not as expected" + expected);
}

// "tiny (j7), QUEUED: waits for 2 devices: …".
std::string Headline(const v1::JobDetail& detail, const TableLayout& layout) {
  const v1::JobView& view = detail.view();
  std::string text = NameWithId(view.name(), view.id()) + ", ";
  text += view.outcome().empty() ? view.state() : OutcomeText(detail);
  const std::string& why = view.outcome().empty() ? view.reason() : view.message();
  return WrapLines(text + (why.empty() ? "" : ": " + InLocalTime(why)), layout.width, 2);
}

std::string WhoText(const v1::Hindrance& hindrance) {
  if (hindrance.job().empty()) return InLocalTime(hindrance.reason());
  std::string text = hindrance.job() + " (" + hindrance.job_name() +
                     (hindrance.owner().empty() ? "" : " of " + hindrance.owner()) + ")";
  return hindrance.reason().empty() ? text : text + "; " + InLocalTime(hindrance.reason());
}

std::string HindrancesText(const v1::Wait& wait, const TableLayout& layout) {
  TextTable table({{.header = "DEVICE", .cut = true},
                   {"STATE"},
                   {.header = "SINCE", .goes = 1},
                   {"EXPECTED TO BE FREE"},
                   {"WHO OR WHY"}});
  for (const v1::Hindrance& hindrance : wait.hindrances()) {
    table.AddRow({hindrance.worker(), hindrance.state(), TimeText(hindrance.since()),
                  hindrance.until() == 0 ? "not known" : "about " + LocalTime(hindrance.until()),
                  WhoText(hindrance)});
  }
  std::string text = table.empty() ? "" : "\n" + table.Render(layout);
  if (wait.more() > 0) text += "and " + WithThousands(wait.more()) + " more\n";
  return text;
}

// What somebody could do about it. Of a host that is drained as a whole this is said once.
std::vector<std::string> Remedies(const v1::Wait& wait) {
  std::vector<std::string> remedies;
  std::set<std::string> drains;
  if (wait.minutes_that_pass() > 0) {
    remedies.push_back("a time limit: submitted with --resources.time_limit " +
                       std::to_string(wait.minutes_that_pass()) + "min or less it would start " +
                       (wait.behind().empty() ? "now, and end before the lease that is in its way"
                                              : "before " + wait.behind()));
  }
  for (const v1::Hindrance& hindrance : wait.hindrances()) {
    if (!hindrance.drain().empty() && drains.insert(hindrance.drain()).second)
      remedies.push_back("trainctl undrain " + hindrance.drain() + ", once it is mended");
    if (StateOf(hindrance) == job::WorkerState::kBad ||
        StateOf(hindrance) == job::WorkerState::kSuspect)
      remedies.push_back("trainctl undrain " + hindrance.worker() + ", once its GPU is well");
    if (StateOf(hindrance) == job::WorkerState::kLost) {
      remedies.push_back("the return of worker " + hindrance.worker() +
                         ": start it, or see whether its host is up");
    }
    if (StateOf(hindrance) == job::WorkerState::kDirty)
      remedies.push_back(hindrance.worker() +
                         " being free again: trainctl workers says why it is not");
  }
  return remedies;
}

std::string InBrackets(const std::string& text) { return text.empty() ? "" : " (" + text + ")"; }

// Of one that has run in between: since that ended.
int64_t WaitsSince(const v1::JobDetail& detail) {
  const int64_t submitted = detail.view().submitted_at();
  return detail.attempts().empty() ? submitted
                                   : std::max(submitted, detail.attempts().rbegin()->ended_at());
}

std::string WaitText(const v1::JobDetail& detail, int64_t now, const TableLayout& layout) {
  const v1::JobView& view = detail.view();
  std::string text = Fact("waits", Ago(WaitsSince(detail), now), layout);
  const std::string start = PredictedStartText(view);
  if (!start.empty())
    text += Fact("starts", start, layout);
  else if (detail.wait().has_why_not_known())
    text += Fact("starts", "not known" + InBrackets(detail.wait().why_not_known()), layout);
  if (!detail.has_wait()) return text;
  const v1::Wait& wait = detail.wait();
  const int64_t others = wait.hindrances_size() + wait.more();
  text += Fact("devices",
               "wants " + WithThousands(view.devices()) + "; of " +
                   WithThousands(wait.free() + others) + " that it could use " +
                   WithThousands(wait.free()) + (wait.free() == 1 ? " is" : " are") + " free" +
                   (wait.behind().empty() ? "" : ", and " + wait.behind() + " is first"),
               layout);
  text += HindrancesText(wait, layout);
  const std::vector<std::string> remedies = Remedies(wait);
  if (!remedies.empty()) text += "\nWhat would help:\n";
  for (const std::string& remedy : remedies) text += "  " + WrapLines(remedy, layout.width, 2);
  return text;
}

// ", as predicted": of a job that something else ends, too, whichever comes first.
std::string EndsBy(const v1::JobDetail& detail) {
  const base::Result<job::JobSpec> job = job::FromJson(detail.job_json());
  std::vector<std::string> bounds;
  if (job.ok() && job->resources.time_limit_seconds) bounds.emplace_back("time limit");
  if (job.ok() && job->resources.lease) bounds.emplace_back("lease");
  return bounds.empty()
             ? ", as predicted"
             : ", as predicted or by its " + Join(bounds, " or its ") + ", whichever comes first";
}

std::string RunText(const v1::JobDetail& detail, int64_t now, const TableLayout& layout) {
  const v1::JobView& view = detail.view();
  const auto add = [&](const char* label, const std::string& fact) {
    return Fact(label, fact, layout);
  };
  std::string text = add("runs", "on " + PlacementText(view) + ", " + Ago(view.started_at(), now));
  if (const std::string steps = StepsText(view); !steps.empty()) text += add("steps", steps);
  if (detail.expected_end() != 0) {
    text += add("ends", "about " + LocalTime(detail.expected_end()) + EndsBy(detail));
  }
  return text;
}

std::string EndingText(const v1::JobDetail& detail, int64_t now, const TableLayout& layout) {
  const v1::JobView& view = detail.view();
  std::string text = Fact("ended", LocalMoment(view.ended_at()), layout);
  if (view.started_at() != 0) {
    text += Fact("ran",
                 FormatClock(ElapsedSeconds(view, now)) +
                     (StepsText(view).empty() ? "" : ", steps " + StepsText(view)),
                 layout);
  }
  for (const v1::AttemptView& attempt : detail.attempts()) {
    text += "\n" + AttemptText(attempt, layout) + LastLinesText(attempt);
  }
  return text;
}

std::string HistoryText(const v1::JobDetail& detail, const TableLayout& layout) {
  std::string text =
      detail.events().empty() ? "" : "\nWhat happened\n" + EventLines(detail, layout);
  if (!detail.history_note().empty())
    text += "\n" + WrapLines(InLocalTime(detail.history_note()), layout.width);
  return text;
}

Json HindranceRecord(const v1::Hindrance& hindrance) {
  const auto text = [](const std::string& value) {
    return value.empty() ? Json(nullptr) : Json(value);
  };
  return {{"worker", hindrance.worker()},           {"state", hindrance.state()},
          {"reason", text(hindrance.reason())},     {"job", text(hindrance.job())},
          {"job_name", text(hindrance.job_name())}, {"owner", text(hindrance.owner())},
          {"since", Seconds(hindrance.since())},    {"until", Seconds(hindrance.until())}};
}

Json WaitRecord(const v1::JobDetail& detail) {
  if (!detail.has_wait()) return nullptr;
  const v1::Wait& wait = detail.wait();
  Json hindrances = Json::array();
  for (const v1::Hindrance& hindrance : wait.hindrances())
    hindrances.push_back(HindranceRecord(hindrance));
  return {{"behind", wait.behind().empty() ? Json(nullptr) : Json(wait.behind())},
          {"free", wait.free()},
          {"why_start_not_known",
           wait.has_why_not_known() ? Json(wait.why_not_known()) : Json(nullptr)},
          {"minutes_that_pass",
           wait.minutes_that_pass() == 0 ? Json(nullptr) : Json(wait.minutes_that_pass())},
          {"hindrances", hindrances},
          {"more", wait.more()}};
}

}  // namespace

std::string ReasonsText(const v1::JobDetail& detail, int64_t now, const TableLayout& layout) {
  const v1::JobView& view = detail.view();
  std::string text = Headline(detail, layout);
  if (StateOf(view) == job::JobState::kQueued) {
    text += WaitText(detail, now, layout);
  } else {
    text += HasEnded(view) ? EndingText(detail, now, layout) : RunText(detail, now, layout);
  }
  return text + HistoryText(detail, layout);
}

Json ReasonsRecord(const v1::JobDetail& detail) {
  Json record = JobRecord(detail.view());
  record["expected_end"] = Seconds(detail.expected_end());
  record["wait"] = WaitRecord(detail);
  Json events = Json::array();
  for (const v1::JobEvent& event : detail.events())
    events.push_back({{"time", Seconds(event.time())}, {"text", event.text()}});
  record["events"] = std::move(events);
  record["history_note"] = detail.history_note();
  return record;
}

bool RanOutOfMemory(const v1::JobDetail& detail) {
  return !detail.attempts().empty() && OomOf(*detail.attempts().rbegin()).has_value();
}

}  // namespace trainctl::client
