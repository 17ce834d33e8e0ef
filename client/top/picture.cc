#include "client/top/picture.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "client/show/calendar_time.h"
#include "client/show/character_width.h"
#include "client/show/escaping.h"
#include "client/show/format.h"
#include "client/show/job_listing.h"
#include "client/show/worker_state.h"
#include "client/top/device_rows.h"
#include "client/top/grid.h"
#include "client/top/job_rows.h"
#include "client/top/rank_rows.h"

namespace trainctl::client {
namespace {

using Rows = std::vector<std::string>;

constexpr int kFewestRows = 6;
constexpr int kLinesOnce = 20;  // of a log, on paper without an end

struct Substitute {
  std::string_view drawn, ascii;
};
constexpr Substitute kSubstitutes[] = {{"…", "."}, {"▶", ">"}, {"·", "-"},
                                       {"°", " "}, {"↑", "^"}, {"↓", "v"}};

// A character that has no substitute is as many "?" as it has columns; marks on a letter of ASCII
// are left out.
std::string ToAscii(std::string_view row) {
  std::string text;
  while (!row.empty()) {
    const auto known = std::ranges::find_if(
        kSubstitutes, [&row](const Substitute& one) { return row.starts_with(one.drawn); });
    if (known != std::ranges::end(kSubstitutes)) {
      text += known->ascii;
      row.remove_prefix(known->drawn.size());
      continue;
    }
    const Character character = FirstCharacter(row);
    if (static_cast<unsigned char>(row[0]) < 0x80 || row[0] == kOwnEscape) {
      text += row[0];
    } else {
      text.append(static_cast<size_t>(character.columns), '?');
    }
    row.remove_prefix(character.bytes);
  }
  return text;
}

Rows Finished(Rows rows, const Paper& paper) {
  if (paper.rows > 0) rows.resize(static_cast<size_t>(paper.rows));
  if (!paper.unicode) std::ranges::transform(rows, rows.begin(), ToAscii);
  return rows;
}

std::string Cut(const std::string& text, const Paper& paper) {
  return paper.columns > 0 ? Truncate(text, paper.columns) : text;
}

std::string StyledCut(const std::string& text, Style style, const Paper& paper) {
  return Styled(Cut(text, paper), style, paper.colour);
}

// "1 running, 3 queued"; with a filter "shown: 0 of 1 running, 1 of 3 queued".
std::string JobCountsText(const SiteView& site) {
  std::string running = std::to_string(site.running.size());
  std::string queued = std::to_string(site.queued.size());
  if (site.filter.empty()) return running + " running, " + queued + " queued";
  running += " of " + std::to_string(site.all_running);
  queued += " of " + std::to_string(site.all_queued);
  return "shown: " + running + " running, " + queued + " queued";
}

std::string CountsText(const SiteView& site) {
  WorkerCounts count;
  for (const v1::WorkerView& worker : site.workers) count.Add(worker);
  const int faulty = count.bad + count.suspect;
  std::string text =
      std::to_string(count.busy) + " of " + Plural(count.devices, "device") + " busy";
  if (count.lost > 0) text += ", " + std::to_string(count.lost) + " lost";
  if (faulty > 0) text += ", " + std::to_string(faulty) + " faulty";
  if (count.dirty > 0) text += ", " + std::to_string(count.dirty) + " not free";
  return text + " · " + JobCountsText(site);
}

std::string TitleRow(const SiteView& site, const Paper& paper) {
  const std::string time = LocalSecond(site.time);
  if (!site.problem.empty()) {
    const std::string text =
        "not as it is now, but as of " + time + ": " + OneLine(site.problem) + " (Ctrl-C ends)";
    return StyledCut(text, Style::kBad, paper);
  }
  return StyledCut(time + " · " + CountsText(site) + " · " + OneLine(site.server), Style::kStrong,
                   paper);
}

std::string CancelQuestion(const v1::JobView& job, int64_t now, bool again) {
  const std::string name = NameWithId(OneLine(job.name()), job.id());
  if (!again) return "End " + name + "? y ends it; any other key does not.";
  const std::string owner = job.owner().empty() ? "" : " of " + OneLine(job.owner());
  return "Really? " + name + owner + " has trained for " + FormatClock(ElapsedSeconds(job, now)) +
         ". y ends it; any other key does not.";
}

std::string KeysRow(const std::string& keys, const SiteView& site, const TopState& state,
                    const Paper& paper) {
  if (const v1::JobView* job = site.Find(state.to_cancel))
    return StyledCut(CancelQuestion(*job, site.time, state.asks_again), Style::kWarning, paper);
  if (state.types) {
    const std::string typed = "filter: " + state.filter + "_ · Enter keeps it · Esc shows all jobs";
    return StyledCut(typed, Style::kWarning, paper);
  }
  if (!state.notice.empty()) return StyledCut(OneLine(state.notice), Style::kWarning, paper);
  return StyledCut(keys, Style::kFaint, paper);
}

// As many as fit, the selected one among them; what is left out is said in the last row.
Rows Window(const JobRows& jobs, size_t height) {
  if (jobs.rows.size() <= height || height < 2) {
    Rows rows = jobs.rows;
    rows.resize(std::min(rows.size(), height));
    return rows;
  }
  const size_t shown = height - 1;
  const size_t first = jobs.selected < shown ? 0 : jobs.selected + 1 - shown;
  const auto begin = jobs.rows.begin() + static_cast<ptrdiff_t>(first);
  Rows rows(begin, begin + static_cast<ptrdiff_t>(shown));
  const size_t above = first, below = jobs.rows.size() - first - shown;
  std::string more = "…";
  if (above > 0) more += " " + std::to_string(above) + " above";
  if (below > 0)
    more += (above > 0 ? "," : "") + std::string(" ") + std::to_string(below) + " below";
  rows.push_back(more);
  return rows;
}

void Append(const Rows& more, Rows* rows) { rows->insert(rows->end(), more.begin(), more.end()); }

// "only 'anna' (Esc: all) · by time left · "
std::string ChosenText(const TopState& state) {
  std::string text;
  if (!state.filter.empty()) text += "only '" + OneLine(state.filter) + "' (Esc: all) · ";
  if (state.order != JobOrder::kAge)
    text += "by " + std::string(kJobOrders[static_cast<size_t>(state.order)]) + " · ";
  return text;
}

}  // namespace

Rows SitePicture(const SiteView& site, const Paper& paper, TopState* state) {
  Rows rows = {TitleRow(site, paper)};
  if (paper.rows <= 0) {
    Append(DeviceRows(site, paper, 0, state), &rows);
    rows.emplace_back();
    Append(RowsOfJobs(site, "", paper).rows, &rows);
    return Finished(std::move(rows), paper);
  }
  const int height = std::max(kFewestRows, paper.rows);
  const JobRows jobs = RowsOfJobs(site, state->selected, paper);
  // Title, an empty row, the sentence of the selected job, keys.
  const int free_rows = height - 4;
  const int wanted = static_cast<int>(jobs.rows.size());
  const int for_devices = std::max(1, std::max(free_rows / 2, free_rows - wanted));
  Append(DeviceRows(site, paper, for_devices, state), &rows);
  rows.emplace_back();
  Append(Window(jobs, static_cast<size_t>(std::max(1, height - 2 - static_cast<int>(rows.size())))),
         &rows);
  rows.resize(static_cast<size_t>(height) - 2);
  rows.push_back(Cut(JobSentence(site.Find(state->selected)), paper));
  const std::string keys =
      "q quit · ↑↓ jk · Enter job · c cancel · / filter · s sort · ? help · ~ predicted";
  rows.push_back(KeysRow(ChosenText(*state) + keys, site, *state, paper));
  return Finished(std::move(rows), paper);
}

Rows LogPicture(const SiteView& site, const OpenJob& open, const Paper& paper, TopState* state) {
  const std::deque<std::string>& lines = open.lines;
  const bool whole = paper.rows <= 0;
  const int height = std::max(kFewestRows, paper.rows);
  const v1::JobView* job = site.Find(state->log_of);
  if (job == nullptr && !open.detail.view().id().empty()) job = &open.detail.view();
  const std::string title = job == nullptr ? state->log_of : JobSentence(job);
  Rows rows = {StyledCut("log of " + title, Style::kStrong, paper), Cut(open.memory, paper)};
  if (!site.problem.empty()) rows[1] = TitleRow(site, paper);
  // A quarter is for ranks, an eighth for events, where there is that much room.
  const int for_ranks = height / 4, for_events = height / 8;
  if (whole || for_ranks > 2)
    Append(RankRows(open.detail, site, paper, whole ? 0 : for_ranks), &rows);
  if (whole || for_events > 1) Append(EventRows(open.detail, paper, whole ? 0 : for_events), &rows);
  const int count = static_cast<int>(lines.size());
  const int page = whole ? kLinesOnce : height - 1 - static_cast<int>(rows.size());
  state->log_page = page;
  state->most_back = std::max(0, count - page);
  state->lines_back = std::clamp(state->lines_back, 0, state->most_back);
  const int end = count - state->lines_back;
  for (int i = std::max(0, end - page); i < end; ++i)
    rows.push_back(Cut(lines[static_cast<size_t>(i)], paper));
  if (lines.empty()) rows.push_back("nothing so far");
  if (whole) return Finished(std::move(rows), paper);
  rows.resize(static_cast<size_t>(height) - 1);
  const std::string where =
      state->lines_back == 0 ? "at its end, follows" : Plural(state->lines_back, "line") + " below";
  rows.push_back(
      KeysRow("q back · ↑↓ jk PgUp PgDn g G scroll · c cancel · " + where, site, *state, paper));
  return Finished(std::move(rows), paper);
}

Rows HelpPicture(const Paper& paper) {
  Rows rows = {
      "trainctl top",
      "",
      "  ↑ ↓  j k  PgUp PgDn  g G   select a job",
      "  Enter  l                   its memory by kind, ranks, events and log;",
      "                             the same keys scroll there, q goes back",
      "  <  >   d                   scroll devices; all of them, or hosts alone",
      "  c                          end the job, after a y, or two where it runs",
      "  /                          only jobs with a text in name, owner, group,",
      "                             tag or device",
      "  s                          sort what runs: age, name, owner, time left, peak",
      "  q  Ctrl-C                  leave; jobs go on",
      "",
      "DEVICE  a host's CPU and memory, then its devices: utilization and memory used,",
      "        of all processes there. Where not all devices fit, a host has one row.",
      "5 MIN   the load of the last five minutes, from left to right; 3 MIN of three.",
      "LEFT    how long a job still needs, by the pace of its steps: a prediction.",
      "STARTS  when a job that waits as the first starts, if others end when expected.",
      "PEAK    the most memory that its tensors took, of the worst rank.",
      "MEMORY  what the device holds by kind, up to the limit; | is the prediction:",
      "        " + MemoryBarLegend(paper.unicode),
      "",
      "any key goes back",
  };
  for (std::string& row : rows) row = Cut(row, paper);
  rows.front() = Styled(rows.front(), Style::kStrong, paper.colour);
  return Finished(std::move(rows), paper);
}

}  // namespace trainctl::client
