#include "server/core/reason_history.h"

#include <string>
#include <string_view>

#include "server/core/queued_jobs.h"

namespace trainctl::core {
namespace {

constexpr int64_t kEvery = 60'000'000;
constexpr size_t kJobs = 16;     // asked at once
constexpr size_t kReasons = 16;  // kept of each

// Without how long things take: "about 12 min", "less than a minute", "at most 29 min", "20 s".
std::string WithoutTimes(std::string_view text) {
  std::string rest;
  for (size_t i = 0; i < text.size();) {
    const size_t end = text.find_first_not_of("0123456789", i);
    const std::string_view behind = end == std::string_view::npos ? "" : text.substr(end);
    const bool is_time = end != i && (behind.starts_with(" min") || behind.starts_with(" s"));
    if (is_time) {
      i = end;
      continue;
    }
    rest += text[i++];
  }
  for (const std::string_view phrase : {"about  min", "less than a minute", ",  more", ",  left"}) {
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
    std::string reason = Reason(state, job, turn.now);
    const bool is_known =
        !job.reasons.empty() && WithoutTimes(job.reasons.back().text) == WithoutTimes(reason);
    if (reason.empty() || is_known) continue;
    job.reasons.push_back({turn.now.wall, std::move(reason)});
    if (job.reasons.size() > kReasons) job.reasons.pop_front();
  }
}

}  // namespace trainctl::core
