#include "server/coordinator/log_tail.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "common/base/descriptor.h"
#include "common/base/error_number.h"

namespace trainctl::coordinator {
namespace {

constexpr int64_t kBlockBytes = 256 << 10;

class BackwardLines {
 public:
  BackwardLines(int64_t wanted, int64_t end) : wanted_(wanted), end_(end) {}

  // The block that ends where the last one began. The offset behind the line break that ends the
  // line before the wanted ones; nullopt: not in this block.
  std::optional<int64_t> Find(std::string_view block, int64_t offset) {
    while (!block.empty()) {
      const void* found = ::memrchr(block.data(), '\n', block.size());
      if (found == nullptr) return std::nullopt;
      const auto at = static_cast<size_t>(static_cast<const char*>(found) - block.data());
      const int64_t behind = offset + static_cast<int64_t>(at) + 1;
      if (behind != end_ && --wanted_ == 0) return behind;
      block = block.substr(0, at);
    }
    return std::nullopt;
  }

 private:
  int64_t wanted_;
  const int64_t end_;  // of the log: the line break there ends the last line
};

base::Result<std::optional<int64_t>> FindInSegment(const LogSegment& segment,
                                                   BackwardLines& lines) {
  const base::Descriptor file(::open(segment.path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open() && errno == ENOENT) return std::optional<int64_t>(segment.End());
  if (!file.open()) return base::OsError(segment.path, errno);
  std::string block;
  std::optional<int64_t> found;
  for (int64_t end = segment.size; end > 0 && !found;) {
    const int64_t start = std::max<int64_t>(0, end - kBlockBytes);
    block.resize(static_cast<size_t>(end - start));
    const ssize_t got = ::pread(file.get(), block.data(), block.size(), start);
    found = lines.Find(std::string_view(block).substr(0, got > 0 ? static_cast<size_t>(got) : 0),
                       segment.offset + start);
    end = start;
  }
  return found;
}

}  // namespace

base::Result<int64_t> LogTailOffset(const std::vector<LogSegment>& segments, int64_t lines) {
  if (segments.empty()) return 0;
  if (lines <= 0) return segments.front().offset;
  BackwardLines backward(lines, segments.back().End());
  for (auto segment = segments.rbegin(); segment != segments.rend(); ++segment) {
    const auto found = FindInSegment(*segment, backward);
    if (!found) return found.error();
    if (*found) return **found;
  }
  return segments.front().offset;
}

}  // namespace trainctl::coordinator
