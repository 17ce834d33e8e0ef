#include "worker/shim/segments.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>

#include "common/base/check.h"
#include "common/base/parse_number.h"

namespace trainctl::shim {
namespace {

constexpr size_t kDigits = 15;

std::optional<int64_t> StartOf(std::string_view name, std::string_view prefix) {
  if (name.size() != prefix.size() + 1 + kDigits || !name.starts_with(prefix) ||
      name[prefix.size()] != '.')
    return std::nullopt;
  const std::string_view digits = name.substr(prefix.size() + 1);
  return base::ParseNumber(digits);
}

}  // namespace

std::string SegmentPath(const std::string& folder, std::string_view prefix, int64_t start) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "%015lld", static_cast<long long>(start));
  return folder + "/" + std::string(prefix) + "." + digits;
}

std::vector<Segment> ListSegments(const std::string& folder, std::string_view prefix) {
  std::vector<Segment> segments;
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(folder.c_str()), ::closedir);
  if (!directory) return segments;
  while (const dirent* entry = ::readdir(directory.get())) {
    const std::optional<int64_t> start = StartOf(entry->d_name, prefix);
    struct stat status;
    if (start && ::fstatat(::dirfd(directory.get()), entry->d_name, &status, 0) == 0)
      segments.push_back({*start, status.st_size});
  }
  std::ranges::sort(segments, {}, &Segment::start);
  return segments;
}

bool SegmentWriter::Begin(int64_t start) {
  End();
  const int file = ::open(SegmentPath(folder_, prefix_, start).c_str(),
                          O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  error_ = file < 0 ? errno : 0;
  file_ = base::Descriptor(file);
  if (file_.open()) segments_.push_back({start, 0});
  return file_.open();
}

size_t SegmentWriter::Write(std::string_view bytes) {
  CHECK(open()) << prefix_;
  error_ = 0;
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t written = ::write(file_.get(), bytes.data() + done, bytes.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      error_ = written < 0 ? errno : ENOSPC;
      break;
    }
    done += static_cast<size_t>(written);
  }
  segments_.back().bytes += static_cast<int64_t>(done);
  return done;
}

void SegmentWriter::End() {
  file_.Close();
  if (!segments_.empty() && segments_.back().bytes == 0) Drop(segments_.size() - 1);
}

void SegmentWriter::Drop(size_t index) {
  CHECK(index < segments_.size()) << index;
  ::unlink(SegmentPath(folder_, prefix_, segments_[index].start).c_str());
  segments_.erase(segments_.begin() + static_cast<std::ptrdiff_t>(index));
}

int64_t SegmentWriter::bytes() const {
  int64_t sum = 0;
  for (const Segment& segment : segments_) sum += segment.bytes;
  return sum;
}

}  // namespace trainctl::shim
