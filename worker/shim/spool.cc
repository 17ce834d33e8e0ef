#include "worker/shim/spool.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/base/parse_number.h"
#include "worker/shim/line_fields.h"

namespace trainctl::shim {
namespace {

constexpr char kPrefix[] = "spool.jsonl";
constexpr std::string_view kHeardAt = "{\"heard_at\":";

bool MayBeLost(std::string_view line) {
  return HasType(line, "metrics") || HasType(line, "progress");
}

// A line that is no object, or would be too long, stays as it is.
std::string WithTime(std::string_view line, base::WallMicros heard_at) {
  std::string stamped(line);
  if (heard_at <= 0 || !line.starts_with("{\"")) return stamped;
  stamped.replace(0, 1, std::string(kHeardAt) + std::to_string(heard_at) + ",");
  return stamped.size() <= kMaxLineBytes ? stamped : std::string(line);
}

}  // namespace

void Spool::Append(std::string_view line, base::WallMicros heard_at) {
  const std::string stamped = WithTime(line, heard_at);
  const int64_t bound = MayBeLost(line) ? limits_.total_bytes : 2 * limits_.total_bytes;
  if (HeldBytes() + static_cast<int64_t>(stamped.size()) >= bound) {
    ++dropped_;
    return;
  }
  SayDropped(heard_at);
  Push(stamped);
}

void Spool::SayDropped(base::WallMicros now) {
  if (const int64_t dropped = std::exchange(dropped_, 0))
    Push(WithTime("{\"type\":\"dropped\",\"messages\":" + std::to_string(dropped) + "}", now));
}

void Spool::Push(std::string_view line) {
  pending_.append(line).push_back('\n');
  ++lines_;
  Flush();
}

void Spool::Flush() {
  while (!pending_.empty()) {
    const bool full = writer_.open() && writer_.segments().back().bytes >= limits_.segment_bytes;
    if ((full || !writer_.open()) && at_line_start_ && !writer_.Begin(written_lines_ + 1)) return;
    const size_t written = writer_.Write(pending_);
    if (written == 0) return;
    written_lines_ +=
        std::count(pending_.begin(), pending_.begin() + static_cast<std::ptrdiff_t>(written), '\n');
    at_line_start_ = pending_[written - 1] == '\n';
    pending_.erase(0, written);
  }
}

void Spool::Acknowledge(int64_t sequence) {
  const std::vector<Segment>& segments = writer_.segments();
  while (segments.size() > 1 && segments[1].start <= sequence + 1) writer_.Drop(0);
}

// A line that is written in part stays, or what follows it could not be read.
void Spool::DropWhatMayBeLost() {
  size_t begin = at_line_start_ ? 0 : pending_.find('\n') + 1;
  std::string kept = pending_.substr(0, begin);
  while (begin < pending_.size()) {
    const size_t end = pending_.find('\n', begin) + 1;
    const std::string_view line = std::string_view(pending_).substr(begin, end - begin);
    begin = end;
    if (MayBeLost(line)) {
      ++dropped_;
      --lines_;
    } else {
      kept += line;
    }
  }
  pending_ = std::move(kept);
}

void Spool::Finish(base::WallMicros now) {
  DropWhatMayBeLost();
  SayDropped(now);
  Flush();
}

void AppendToEndedSpool(const std::string& folder, std::string_view line) {
  const std::vector<Segment> segments = ListSegments(folder, kPrefix);
  const std::string path =
      SegmentPath(folder, kPrefix, segments.empty() ? 1 : segments.back().start);
  const base::Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600));
  if (!file.open()) return;
  const off_t size = ::lseek(file.get(), 0, SEEK_END);
  char last = '\n';
  const bool torn = size > 0 && ::pread(file.get(), &last, 1, size - 1) == 1 && last != '\n';
  const std::string text = (torn ? "\n" : "") + std::string(line) + "\n";
  const bool whole =
      ::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!whole) [[maybe_unused]]
    const int cut = ::ftruncate(file.get(), size);
}

base::WallMicros HeardAt(std::string_view line) {
  if (!line.starts_with(kHeardAt)) return 0;
  line.remove_prefix(kHeardAt.size());
  return base::ParseNumber(line.substr(0, line.find_first_not_of("0123456789"))).value_or(0);
}

SpoolReader::SpoolReader(std::string folder) : folder_(std::move(folder)) {}

void SpoolReader::Open(int64_t start) {
  file_ =
      base::Descriptor(::open(SegmentPath(folder_, kPrefix, start).c_str(), O_RDONLY | O_CLOEXEC));
  segment_start_ = file_.open() ? start : 0;
  partial_.Clear();
}

void SpoolReader::Seek(int64_t sequence) {
  ready_.clear();
  file_.Close();
  segment_start_ = 0;
  next_ = sequence;
  const std::vector<Segment> segments = ListSegments(folder_, kPrefix);
  if (segments.empty()) return;
  auto after = std::ranges::upper_bound(segments, sequence, {}, &Segment::start);
  const Segment& found = after == segments.begin() ? *after : *std::prev(after);
  Open(found.start);
  next_ = found.start;
  while (next_ < sequence && Next()) {
  }
}

// Goes to the segment that begins with the next line, once the writer has begun it.
bool SpoolReader::Follow() {
  const std::vector<Segment> segments = ListSegments(folder_, kPrefix);
  const auto found = std::ranges::find(segments, next_, &Segment::start);
  if (found == segments.end() || found->start == segment_start_) return false;
  Open(found->start);
  return file_.open();
}

std::optional<SpoolLine> SpoolReader::Next() {
  char bytes[64 << 10];
  while (ready_.empty()) {
    const ssize_t got = file_.open() ? ::read(file_.get(), bytes, sizeof bytes) : 0;
    if (got <= 0 && !Follow()) return std::nullopt;
    if (got > 0) {
      partial_.Append({bytes, static_cast<size_t>(got)},
                      [this](std::string_view line) { ready_.emplace_back(line); });
    }
  }
  SpoolLine line{next_++, std::move(ready_.front())};
  ready_.pop_front();
  return line;
}

}  // namespace trainctl::shim
