#include "server/web/log_excerpt.h"

#include <algorithm>
#include <limits>

#include "server/coordinator/overlay.h"

namespace trainctl::web {
namespace {

constexpr int64_t kPieceBytes = 64 << 10;
constexpr int64_t kTailBytes = 32 << 10;  // where no offset is asked for
constexpr size_t kMaxSplitBytes = 3;      // of a character whose rest is still to come

base::Error HasNo(const std::string& what, int64_t which, base::JobId job) {
  return {base::Code::kNotFound,
          base::ToString(job) + " has no " + what + " " + std::to_string(which)};
}

// Bytes at the end that begin a character of UTF-8 and do not end it.
size_t SplitBytes(const std::string& data) {
  for (size_t back = 1; back <= std::min(kMaxSplitBytes, data.size()); ++back) {
    const auto byte = static_cast<unsigned char>(data[data.size() - back]);
    if ((byte & 0xC0) == 0x80) continue;
    const size_t length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : byte >= 0xC0 ? 2 : 1;
    return length > back ? back : 0;
  }
  return 0;
}

}  // namespace

base::Result<LogQuestion> LogQuestionOf(const Target& target) {
  constexpr int64_t kLast = std::numeric_limits<int64_t>::max() / 2;
  const auto rank = NumberOf(target, "rank", {0, kLast, 0});
  if (!rank) return rank.error();
  const auto attempt = NumberOf(target, "attempt", {1, kLast, 0});
  if (!attempt) return attempt.error();
  const auto offset = NumberOf(target, "offset", {0, kLast, -1});
  if (!offset) return offset.error();
  LogQuestion question{target.One("job"), *rank, *attempt, std::nullopt};
  if (*offset >= 0) question.offset = *offset;
  return question;
}

base::Result<LogExcerpt> ReadLogExcerpt(coordinator::Coordinator& coordinator,
                                        const store::StoredJob& job, const LogQuestion& question) {
  const auto snapshot = coordinator::Snapshot(coordinator, job);
  const int64_t latest = snapshot.job.status.attempt;
  LogExcerpt piece{.attempt = question.attempt == 0 ? latest : question.attempt,
                   .rank = question.rank,
                   .ranks = job.row.spec.devices,
                   .removed_at = job.logs_removed_at};
  if (question.rank >= piece.ranks) return HasNo("rank", question.rank, job.row.id);
  if (piece.attempt > latest) return HasNo("attempt", piece.attempt, job.row.id);
  piece.ended = snapshot.job.status.state == job::JobState::kFinished || piece.attempt < latest;
  if (piece.attempt == 0) return piece;
  const job::RankKey key{job.row.id, piece.attempt, piece.rank};
  const base::Result<int64_t> end = coordinator.logs().End(key);
  if (!end) return end.error();
  const int64_t from = question.offset.value_or(std::max<int64_t>(0, *end - kTailBytes));
  auto read = coordinator.logs().Read(key, std::min(from, *end), kPieceBytes);
  if (!read) return read.error();
  const bool is_all = read->next_offset >= *end;
  piece.offset = read->next_offset - static_cast<int64_t>(read->data.size());
  const size_t split = is_all && piece.ended ? 0 : SplitBytes(read->data);
  piece.data = read->data.substr(0, read->data.size() - split);
  piece.next_offset = read->next_offset - static_cast<int64_t>(split);
  piece.ended = piece.ended && is_all;
  return piece;
}

record::Json LogDocument(const LogExcerpt& piece) {
  return {{"attempt", piece.attempt},
          {"rank", piece.rank},
          {"ranks", piece.ranks},
          {"offset", piece.offset},
          {"next_offset", piece.next_offset},
          {"text", piece.data},
          {"ended", piece.ended},
          {"removed_at", record::Seconds(piece.removed_at)}};
}

}  // namespace trainctl::web
