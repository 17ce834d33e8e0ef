#include "client/show/attempt_text.h"

#include "client/show/auto_micro_batch.h"
#include "client/show/calendar_time.h"
#include "client/show/decoded.h"
#include "client/show/format.h"
#include "client/show/job_text.h"
#include "common/base/size.h"
#include "common/rank/memory_kind.h"

namespace trainctl::client {
namespace {

std::string EndText(const v1::AttemptView& attempt) {
  std::string text = FailedTrialText(attempt);
  if (text.empty()) text = attempt.outcome().empty() ? "running" : attempt.outcome();
  const std::vector<std::string> causes = Causes(attempt);
  if (!causes.empty()) text += " (" + Join(causes, ", ") + ")";
  return attempt.message().empty() ? text : text + ": " + InLocalTime(attempt.message());
}

std::string HeldText(const job::OomDetail& oom) {
  std::string held;
  for (const job::MemoryKind& kind : job::kMemoryKinds) {
    if (kind.is_part && oom.memory.*kind.bytes > 0)
      held += ", " + std::string(kind.label) + " " + base::FormatBytes(oom.memory.*kind.bytes);
  }
  return "rank " + std::to_string(oom.rank) + " " + OomText(oom) + "; last measured" +
         (held.empty() ? ": nothing" : ":" + held.substr(1)) + ". What to do: trainctl explain oom";
}

}  // namespace

std::string AttemptText(const v1::AttemptView& attempt, const TableLayout& layout) {
  constexpr int kIndent = 4;
  const std::string line = "Attempt " + std::to_string(attempt.attempt()) + ": " + EndText(attempt);
  std::string text = WrapLines(line, layout.width, kIndent);
  if (const auto oom = OomOf(attempt))
    text += std::string(kIndent, ' ') + WrapLines(HeldText(*oom), layout.width, kIndent);
  return text;
}

std::string PhaseText(const v1::AttemptView& attempt, const v1::RankView& rank) {
  return Succeeded(attempt) ? "" : rank.phase();
}

std::string LastLinesText(const v1::AttemptView& attempt) {
  if (attempt.last_log_lines().empty() || Succeeded(attempt)) return "";
  std::string text = "  last log lines\n";
  for (const std::string& line : Split(attempt.last_log_lines(), '\n'))
    text += "    | " + line + "\n";
  return text;
}

}  // namespace trainctl::client
