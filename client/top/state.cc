#include "client/top/state.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "client/show/decoded.h"
#include "client/show/format.h"

namespace trainctl::client {
namespace {

constexpr int kJobsAPage = 10;
constexpr size_t kLongestFilter = 40;

bool Is(const KeyPress& key, char character) {
  return key.kind == KeyKind::kCharacter && key.character == character;
}

// Where a key leads in a list of `count`.
int Moved(const KeyPress& key, int place, int count, int page) {
  int to = place;
  if (key.kind == KeyKind::kUp || Is(key, 'k')) to = place - 1;
  if (key.kind == KeyKind::kDown || Is(key, 'j')) to = place + 1;
  if (key.kind == KeyKind::kPageUp) to = place - page;
  if (key.kind == KeyKind::kPageDown || Is(key, ' ')) to = place + page;
  if (key.kind == KeyKind::kHome || Is(key, 'g')) to = 0;
  if (key.kind == KeyKind::kEnd || Is(key, 'G')) to = count - 1;
  return std::clamp(to, 0, std::max(0, count - 1));
}

int PlaceOf(const std::vector<const v1::JobView*>& jobs, const std::string& id) {
  const auto place =
      std::ranges::find_if(jobs, [&id](const v1::JobView* job) { return job->id() == id; });
  return place == jobs.end() ? -1 : static_cast<int>(place - jobs.begin());
}

void AskToCancel(const SiteView& site, const std::string& id, TopState* state) {
  const v1::JobView* job = site.Find(id);
  if (job == nullptr) return;
  if (HasEnded(*job)) {
    state->notice = NameWithId(job->name(), job->id()) + " has ended already.";
  } else {
    state->to_cancel = id;
    state->asks_again = false;
  }
}

TopAction Confirm(const KeyPress& key, const SiteView& site, TopState* state) {
  if (Is(key, 'y') || Is(key, 'Y')) {
    const v1::JobView* job = site.Find(state->to_cancel);
    const bool runs = job != nullptr && StateOf(*job) == job::JobState::kRunning;
    if (!runs || std::exchange(state->asks_again, true)) return TopAction::kCancel;
    return TopAction::kNone;
  }
  state->to_cancel.clear();
  state->notice = "Nothing was cancelled.";
  return TopAction::kNone;
}

TopAction ObeyInLog(const KeyPress& key, const SiteView& site, TopState* state) {
  if (Is(key, 'q') || key.kind == KeyKind::kEscape || key.kind == KeyKind::kEnter) {
    state->log_of.clear();
  } else if (Is(key, 'c')) {
    AskToCancel(site, state->log_of, state);
  } else {
    const int count = state->most_back + 1;
    const int place = Moved(key, state->most_back - state->lines_back, count, state->log_page);
    state->lines_back = state->most_back - place;
  }
  return TopAction::kNone;
}

// Letters are ASCII: of others the filter has nothing.
void TypeFilter(const KeyPress& key, TopState* state) {
  if (key.kind == KeyKind::kEnter) {
    state->types = false;
  } else if (key.kind == KeyKind::kEscape) {
    state->types = false;
    state->filter.clear();
  } else if (key.kind == KeyKind::kBackspace) {
    if (!state->filter.empty()) state->filter.pop_back();
  } else if (key.kind == KeyKind::kCharacter && key.character >= ' ' && key.character <= '~' &&
             state->filter.size() < kLongestFilter) {
    state->filter += key.character;
  }
}

JobOrder Next(JobOrder order) {
  return static_cast<JobOrder>((static_cast<size_t>(order) + 1) % std::size(kJobOrders));
}

TopAction ObeyInSite(const KeyPress& key, const SiteView& site, TopState* state) {
  const auto jobs = site.jobs();
  const int place = PlaceOf(jobs, state->selected);
  if (Is(key, 'q')) return TopAction::kQuit;
  if (Is(key, '/')) {
    state->types = true;
  } else if (key.kind == KeyKind::kEscape) {
    state->filter.clear();
  } else if (Is(key, 'd')) {
    state->all_devices = !state->all_devices;
  } else if (Is(key, '<') || Is(key, '>')) {
    const int page = std::max(1, state->devices_page);
    state->devices_first =
        std::clamp(state->devices_first + (Is(key, '>') ? page : -page), 0, state->devices_most);
  } else if (Is(key, 's')) {
    state->order = Next(state->order);
  } else if (Is(key, 'c')) {
    AskToCancel(site, state->selected, state);
  } else if (key.kind == KeyKind::kEnter || Is(key, 'l')) {
    if (place >= 0) state->log_of = state->selected;
    state->lines_back = 0;
  } else if (!jobs.empty()) {
    const int to = Moved(key, std::max(0, place), static_cast<int>(jobs.size()), kJobsAPage);
    state->selected = jobs[static_cast<size_t>(to)]->id();
  }
  return TopAction::kNone;
}

}  // namespace

void Settle(const SiteView& site, TopState* state) {
  if (site.Find(state->selected) != nullptr) return;
  const auto jobs = site.jobs();
  state->selected = jobs.empty() ? "" : jobs.front()->id();
}

TopAction Obey(const KeyPress& key, const SiteView& site, TopState* state) {
  if (key.kind == KeyKind::kHangUp) return TopAction::kQuit;
  state->notice.clear();
  if (state->types) {
    TypeFilter(key, state);
    return TopAction::kNone;
  }
  if (!state->to_cancel.empty()) return Confirm(key, site, state);
  if (std::exchange(state->help, false)) return TopAction::kNone;
  if (Is(key, '?') || Is(key, 'h')) {
    state->help = true;
    return TopAction::kNone;
  }
  return state->log_of.empty() ? ObeyInSite(key, site, state) : ObeyInLog(key, site, state);
}

}  // namespace trainctl::client
