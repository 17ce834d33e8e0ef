#include "server/core/reason_history.h"

#include <algorithm>
#include <string>
#include <string_view>

#include "server/core/leases.h"
#include "server/core/queued_jobs.h"

namespace trainctl::core {
namespace {

constexpr int64_t kEvery = 60'000'000;
constexpr size_t kJobs = 16;     // asked at once
constexpr size_t kReasons = 16;  // kept of each
constexpr std::string_view kUnits[] = {" min", " s", " h ", " d "};

// Without how long things take: "about 12 min", "less than a minute", "at most 2 d 5 h", "20 s".
std::string WithoutTimes(std::string_view text) {
  std::string rest;
  while (!text.empty()) {
    const size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::string_view behind = text.substr(digits);
    const bool is_time = std::ranges::any_of(
        kUnits, [&](std::string_view unit) { return behind.starts_with(unit); });
    if (digits > 0 && !is_time) rest += text.substr(0, digits);
    if (digits == 0) rest += text.front();
    text.remove_prefix(std::max<size_t>(digits, 1));
  }
  for (const std::string_view phrase :
       {"about  h  min", "about  d  h", "about  min", "less than a minute", ",  more", ",  left"}) {
    for (size_t at = rest.find(phrase); at != std::string::npos; at = rest.find(phrase))
      rest.erase(at, phrase.size());
  }
  return rest;
}

}  // namespace

void NoteReasons(Turn& turn) {
  State& state = turn.state;
  if (state.reasons_asked && turn.now.steady - *state.reasons_asked < kEvery) return;
  state.reasons_asked = turn.now.steady;
  for (const Job* first : FirstInTurn(state, kJobs)) {
    Job& job = state.jobs.at(first->row.id);
    if (job.watched_since == 0) job.watched_since = turn.now.wall;
    std::string reason = Reason(state, job, turn.now);
    const bool is_known =
        !job.reasons.empty() && WithoutTimes(job.reasons.back().text) == WithoutTimes(reason);
    if (reason.empty() || is_known) continue;
    job.reasons.push_back({turn.now.wall, std::move(reason)});
    if (job.reasons.size() > kReasons) job.reasons.pop_front();
  }
}

std::string HistoryNote(const State& state, const Job& job, const Now& now) {
  const base::WallMicros submitted = job.row.submitted_at, started = job.status.started_at;
  if (started != 0 && started - submitted < kEvery) return "";  // it hardly waited
  std::string note;
  if (submitted < state.began_at)
    note = "Why it waited before the coordinator began, " + UtcText(state.began_at) +
           ", is not kept. ";
  const base::WallMicros from = std::max(submitted, state.began_at);
  const bool waits = job.lane == Lane::kQueue;
  const base::WallMicros to = job.watched_since == 0 && waits ? now.wall : job.watched_since;
  if (to - from >= 2 * kEvery) {
    note += "Why jobs wait is kept of the first " + std::to_string(kJobs) +
            " of the queue; it was not among them until " +
            (job.watched_since == 0 ? "now" : UtcText(to)) + ".";
  }
  if (note.ends_with(' ')) note.pop_back();
  return note;
}

}  // namespace trainctl::core
