#include "worker/shim/log_file.h"

#include <fcntl.h>

#include <algorithm>
#include <vector>

namespace trainctl::shim {
namespace {

constexpr size_t kMaxSegments = 64;  // many gaps make many small ones

}  // namespace

// Opens the segment that takes the next byte; returns how many bytes more it takes. 0: the disk is
// full.
int64_t LogFile::Room() {
  const std::vector<Segment>& segments = writer_.segments();
  const auto capacity = [&] {
    return segments.size() <= 1 ? limits_.first_bytes : limits_.segment_bytes;
  };
  const bool goes_on =
      writer_.open() && segments.back().start + segments.back().bytes == written_end_;
  if (goes_on && segments.back().bytes < capacity()) return capacity() - segments.back().bytes;
  if (!writer_.Begin(written_end_)) return 0;
  const int64_t bound = static_cast<int64_t>(limits_.newest_segments) * limits_.segment_bytes;
  while (segments.size() > 2 && (segments.size() > kMaxSegments ||
                                 writer_.bytes() - segments.front().bytes + capacity() > bound))
    writer_.Drop(1);
  return capacity();
}

void LogFile::Append(std::string_view bytes) {
  held_ += bytes;
  Flush();
  if (held_.size() <= limits_.held_bytes) return;
  const size_t lost = held_.size() - limits_.held_bytes;
  held_.erase(0, lost);
  written_end_ += static_cast<int64_t>(lost);
}

void LogFile::Flush() {
  size_t done = 0;
  while (done < held_.size()) {
    const int64_t room = Room();
    const std::string_view part =
        std::string_view(held_).substr(done, static_cast<size_t>(std::max<int64_t>(0, room)));
    const size_t written = part.empty() ? 0 : writer_.Write(part);
    if (written == 0) break;
    written_end_ += static_cast<int64_t>(written);
    done += written;
  }
  held_.erase(0, done);
}

int64_t LogFile::Finish() {
  Flush();
  writer_.End();
  return static_cast<int64_t>(held_.size());
}

LogChunk ReadLog(const std::string& folder, int64_t offset, size_t max_bytes) {
  for (const Segment& segment : ListSegments(folder, "rank.log")) {
    if (segment.bytes == 0 || segment.start + segment.bytes <= offset) continue;
    LogChunk chunk{std::max(offset, segment.start), {}};
    const base::Descriptor file(
        ::open(SegmentPath(folder, "rank.log", segment.start).c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.open()) continue;  // dropped since it was listed
    chunk.data.resize(
        std::min(max_bytes, static_cast<size_t>(segment.start + segment.bytes - chunk.offset)));
    const ssize_t got =
        ::pread(file.get(), chunk.data.data(), chunk.data.size(), chunk.offset - segment.start);
    chunk.data.resize(got > 0 ? static_cast<size_t>(got) : 0);
    return chunk;
  }
  return {offset, {}};
}

std::string LogTail(const std::string& folder, size_t max_lines, size_t max_bytes) {
  const std::vector<Segment> segments = ListSegments(folder, "rank.log");
  if (segments.empty()) return {};
  const int64_t end = segments.back().start + segments.back().bytes;
  int64_t at = std::max<int64_t>(0, end - static_cast<int64_t>(max_bytes));
  bool cut = at > 0;
  std::string text;
  for (LogChunk chunk = ReadLog(folder, at, max_bytes); !chunk.data.empty();
       chunk = ReadLog(folder, at, max_bytes)) {
    text += chunk.data;
    at = chunk.offset + static_cast<int64_t>(chunk.data.size());
    if (at >= end) break;
  }
  size_t from = text.size();
  for (size_t lines = 0; from > 0 && lines < max_lines; ++lines) {
    const size_t newline = from < 2 ? std::string::npos : text.rfind('\n', from - 2);
    if (newline == std::string::npos && cut && lines > 0) break;
    from = newline == std::string::npos ? 0 : newline + 1;
  }
  return text.substr(from);
}

}  // namespace trainctl::shim
