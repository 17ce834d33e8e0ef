#include "client/top/job_rows.h"

#include <cmath>
#include <utility>

#include "client/show/calendar_time.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/show/job_text.h"
#include "client/top/device_rows.h"
#include "client/top/grid.h"
#include "common/base/size.h"

namespace trainctl::client {
namespace {

// Of a time in microseconds: "~16:40", a prediction.
std::string PredictedHour(int64_t micros) { return micros == 0 ? "" : "~" + LocalMinute(micros); }

struct Drawing {
  const SiteView& site;
  const std::string& selected;
  const Paper& paper;

  // "▶ j12": how the selected one is told without colour.
  TextCell IdCell(const v1::JobView& job) const {
    const bool is_selected = job.id() == selected;
    const std::string mark = selected.empty() ? "" : is_selected ? "▶ " : "  ";
    return {mark + job.id(), is_selected ? Style::kStrong : Style::kPlain};
  }
  TextCell NameCell(const v1::JobView& job) const {
    return {job.name(), job.id() == selected ? Style::kStrong : Style::kPlain};
  }
  std::vector<std::string> Lines(const RowGrid& grid) const {
    return grid.Lines({.width = paper.columns, .colour = paper.colour});
  }
};

std::string StepCell(const v1::JobView& job) {
  if (StateOf(job) == job::JobState::kStarting) return "starting";
  if (StateOf(job) == job::JobState::kStopping) return "stopping";
  if (job.steps() == 0) return job.step() == 0 ? "" : WithThousands(job.step());
  return WithThousands(job.step()) + "/" + WithThousands(job.steps());
}

std::string DoneCell(const v1::JobView& job, const Paper& paper) {
  if (job.steps() == 0 || StateOf(job) == job::JobState::kStarting) return "";
  return LoadText(100.0 * static_cast<double>(job.step()) / static_cast<double>(job.steps()),
                  paper);
}

std::string LossCell(const v1::JobView& job) {
  return job.has_loss() ? FormatNumber(job.loss()) : "";
}

std::string RateCell(const v1::JobView& job) {
  return job.has_tokens_per_second() ? FormatNumber(job.tokens_per_second()) : "";
}

std::string PeakCell(const v1::JobView& job) {
  return job.peak_allocated_bytes() > 0 ? base::FormatBytes(job.peak_allocated_bytes()) : "";
}

std::string MemoryCell(const SiteView& site, const std::string& job, const Paper& paper) {
  const auto memory = site.memory.find(job);
  if (memory == site.memory.end()) return "";
  return ShortMemoryBar(memory->second,
                        {.columns = IsWide(paper) ? 12 : 10, .unicode = paper.unicode});
}

std::string WherePhase(const v1::JobView& job) {
  const std::string place = PlacementText(job);
  return place + (place.empty() || job.reason().empty() ? "" : ": ") + InLocalTime(job.reason());
}

// On 80 columns the bar of what is held stands in the place of its number.
std::vector<std::string> RunningRows(const Drawing& drawing) {
  const SiteView& site = drawing.site;
  RowGrid grid({{.header = "RUNNING", .least = 7},
                {.header = "NAME", .least = 8, .cut = true},
                {.header = "OWNER", .least = 5, .cut = true, .goes = 5},
                {.header = "DONE", .goes = 8},
                {.header = "STEP", .right = true, .least = 9},
                {.header = "LOSS", .right = true, .least = 6},
                {.header = "TOKENS/S", .right = true, .least = 8, .goes = 1},
                {.header = "MEMORY", .goes = 2},
                {.header = "PEAK", .right = true, .least = 9, .goes = 7},
                {.header = "TIME", .right = true, .least = 5, .goes = 6},
                {.header = "LEFT", .right = true, .least = 6},
                {.header = "WHERE", .least = 10, .cut = true, .goes = 9}});
  for (const v1::JobView& job : site.running) {
    const bool starts = StateOf(job) != job::JobState::kRunning;
    grid.AddRow({drawing.IdCell(job),
                 drawing.NameCell(job),
                 job.owner(),
                 DoneCell(job, drawing.paper),
                 {StepCell(job), starts ? Style::kWarning : Style::kPlain},
                 LossCell(job),
                 RateCell(job),
                 MemoryCell(site, job.id(), drawing.paper),
                 PeakCell(job),
                 job.started_at() != 0 ? FormatClock(ElapsedSeconds(job, site.time)) : "",
                 job.remaining_seconds() > 0 ? "~" + FormatClock(job.remaining_seconds()) : "",
                 WherePhase(job)});
  }
  return drawing.Lines(grid);
}

std::vector<std::string> QueuedRows(const Drawing& drawing) {
  RowGrid grid({{.header = "QUEUED", .least = 7},
                {.header = "NAME", .least = 8, .cut = true},
                {.header = "OWNER", .least = 5, .cut = true, .goes = 4},
                {.header = "DEVICES", .right = true},
                {.header = "WAITS", .right = true, .least = 5, .goes = 5},
                {.header = "STARTS", .right = true, .least = 6},
                {.header = "WHY", .least = 16, .cut = true}});
  for (const v1::JobView& job : drawing.site.queued) {
    const auto waits = static_cast<double>(drawing.site.time - job.submitted_at()) / 1e6;
    grid.AddRow({drawing.IdCell(job), drawing.NameCell(job), job.owner(),
                 std::to_string(job.devices()), job.submitted_at() != 0 ? FormatClock(waits) : "",
                 PredictedHour(job.predicted_start()), InLocalTime(job.reason())});
  }
  return drawing.Lines(grid);
}

std::vector<std::string> EndedRows(const Drawing& drawing) {
  RowGrid grid({{.header = "ENDED", .least = 7},
                {.header = "NAME", .least = 8, .cut = true},
                {.header = "OWNER", .least = 5, .cut = true, .goes = 6},
                {.header = "OUTCOME", .least = 9},
                {.header = "LOSS", .right = true, .least = 6},
                {.header = "TOKENS/S", .right = true, .least = 8, .goes = 3},
                {.header = "PEAK", .right = true, .least = 9, .goes = 2},
                {.header = "TIME", .right = true, .least = 5},
                {.header = "WHY", .least = 12, .cut = true, .goes = 7}});
  for (const v1::JobView& job : drawing.site.ended) {
    grid.AddRow({drawing.IdCell(job),
                 drawing.NameCell(job),
                 job.owner(),
                 {job.outcome(), OutcomeStyle(job)},
                 LossCell(job),
                 RateCell(job),
                 PeakCell(job),
                 job.started_at() != 0 ? FormatClock(ElapsedSeconds(job, drawing.site.time)) : "",
                 Succeeded(job) ? "" : InLocalTime(job.message())});
  }
  return drawing.Lines(grid);
}

// Jobs that ended before the last ones may have the filter's text: status lists them.
std::string NoJobsText(const SiteView& site) {
  return site.filter.empty() ? "no jobs"
                             : "no job that is shown here has '" + OneLine(site.filter) + "'";
}

}  // namespace

JobRows RowsOfJobs(const SiteView& site, const std::string& selected, const Paper& paper) {
  const Drawing drawing{site, selected, paper};
  JobRows all;
  const auto add = [&](const std::vector<v1::JobView>& jobs, std::vector<std::string> rows) {
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (jobs[i].id() == selected) all.selected = all.rows.size() + 1 + i;
    }
    if (!jobs.empty()) all.rows.insert(all.rows.end(), rows.begin(), rows.end());
  };
  add(site.running, RunningRows(drawing));
  add(site.queued, QueuedRows(drawing));
  add(site.ended, EndedRows(drawing));
  if (all.rows.empty()) all.rows.push_back(NoJobsText(site));
  return all;
}

std::string JobSentence(const v1::JobView* job) {
  if (job == nullptr) return "";
  std::vector<std::string> parts = {job->id() + " " + job->name()};
  if (!job->owner().empty()) parts.push_back(job->owner());
  if (!job->group_name().empty()) parts.push_back(GroupText(*job));
  const std::string place = PlacementText(*job);
  parts.push_back((job->outcome().empty() ? job->state() : job->outcome()) +
                  (place.empty() ? "" : " on " + place));
  if (job->attempt() > 1) parts.push_back("attempt " + std::to_string(job->attempt()));
  const std::string& why = HasEnded(*job) ? job->message() : job->reason();
  if (!why.empty() && !Succeeded(*job)) parts.push_back(InLocalTime(why));
  if (job->predicted_start() != 0) parts.push_back("starts " + PredictedStartText(*job));
  return OneLine(Join(parts, " · "));
}

}  // namespace trainctl::client
