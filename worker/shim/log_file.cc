#include "worker/shim/log_file.h"

#include <fcntl.h>

#include <algorithm>
#include <vector>

namespace trainctl::shim {

// Opens the segment that takes the next byte.
bool LogFile::Room() {
  const std::vector<Segment>& segments = writer_.segments();
  const int64_t capacity = segments.size() <= 1 ? limits_.first_bytes : limits_.segment_bytes;
  if (writer_.open() && segments.back().bytes < capacity) return true;
  if (!writer_.Begin(end_)) return false;
  while (segments.size() > 1 + limits_.newest_segments) writer_.Drop(1);
  return true;
}

void LogFile::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    size_t taken = 0;
    if (Room()) {
      const int64_t capacity =
          writer_.segments().size() <= 1 ? limits_.first_bytes : limits_.segment_bytes;
      const std::string_view part =
          bytes.substr(0, static_cast<size_t>(capacity - writer_.segments().back().bytes));
      taken = writer_.Write(part);
      if (taken == part.size()) {
        end_ += static_cast<int64_t>(taken);
        bytes.remove_prefix(taken);
        continue;
      }
    }
    writer_.Close();  // no space left: the rest of these bytes is lost
    end_ += static_cast<int64_t>(bytes.size());
    return;
  }
}

LogChunk ReadLog(const std::string& folder, int64_t offset, size_t max_bytes) {
  for (const Segment& segment : ListSegments(folder, "rank.log")) {
    if (segment.start + segment.bytes <= offset) continue;
    LogChunk chunk{std::max(offset, segment.start), {}};
    const Descriptor file(
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
