#include "client/top/log_tail.h"

#include <string_view>
#include <utility>

#include "client/show/decoded.h"
#include "client/top/grid.h"

namespace trainctl::client {
namespace {

constexpr int64_t kFirstLines = 1000;
constexpr size_t kMostLines = 10'000;

// What a progress bar has left standing, without colours.
std::string PlainLine(std::string_view text) {
  if (text.ends_with('\r')) text.remove_suffix(1);
  if (const size_t bar = text.rfind('\r'); bar != std::string_view::npos)
    text.remove_prefix(bar + 1);
  std::string plain;
  while (!text.empty()) {
    const size_t escape = text.find("\x1b[");
    plain += text.substr(0, escape);
    if (escape == std::string_view::npos) break;
    text.remove_prefix(escape);
    const size_t end = text.find_first_not_of("0123456789;", 2);
    const bool is_colour = end != std::string_view::npos && text[end] == 'm';
    if (!is_colour) plain += text[0];
    text.remove_prefix(is_colour ? end + 1 : 1);
  }
  return OneLine(plain);
}

}  // namespace

LogTail::LogTail(std::string job)
    : job_(std::move(job)), split_([this](const LogLine& line) { Take(line); }) {
  next_.set_job(job_);
  next_.set_tail_lines(kFirstLines);
}

void LogTail::Take(const LogLine& line) {
  const std::string rank = shows_ranks_ ? "[" + std::to_string(line.rank) + "] " : "";
  lines_.push_back(rank + PlainLine(line.text));
  if (lines_.size() > kMostLines) lines_.pop_front();
}

base::Status LogTail::Read(Api& api, const v1::JobView& view) {
  shows_ranks_ = view.devices() > 1;
  if (attempt_ != view.attempt()) {
    next_.clear_from();
    split_.Finish();
    if (attempt_ != 0) lines_.push_back("---- attempt " + std::to_string(view.attempt()));
    attempt_ = view.attempt();
  }
  const v1::LogsRequest request = next_;
  const base::Status read = api.Logs(request, [this](const v1::LogChunk& chunk) {
    split_.Add(chunk);
    GoOnBehind(chunk, &next_);
    return true;
  });
  if (read.ok() && HasEnded(view)) split_.Finish();
  return read;
}

}  // namespace trainctl::client
