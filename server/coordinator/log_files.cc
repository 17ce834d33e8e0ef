#include "server/coordinator/log_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "common/base/descriptor.h"
#include "common/base/error_number.h"
#include "common/base/parse_number.h"

namespace trainctl::coordinator {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxKnown =
    4096;  // ranks whose segments are remembered; beyond it all are forgotten and scanned again
constexpr int64_t kMostJobs = int64_t{1} << 53;  // no site gives more
constexpr size_t kMaxSegments = 64;              // of one rank: many gaps make many small ones
constexpr std::string_view kGapWords =
    "\n[trainctl: ";  // how a mark that has room for words begins

// The bytes written; fewer than asked where the disk is full.
int64_t WriteAll(int fd, std::string_view data) {
  int64_t written = 0;
  while (!data.empty()) {
    const ssize_t n = ::write(fd, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    written += n;
    data.remove_prefix(n);
  }
  return written;
}

// The offset that a file's name says, where it is a segment of this rank: "3.log" → 0, "3.4096.log"
// → 4096.
std::optional<int64_t> SegmentOffset(std::string_view name, int64_t rank) {
  const std::string prefix = std::to_string(rank) + ".";
  constexpr std::string_view kSuffix = "log";
  if (!name.starts_with(prefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name = name.substr(prefix.size(), name.size() - prefix.size() - kSuffix.size());
  if (name.empty()) return 0;
  if (name.back() != '.') return std::nullopt;
  return base::ParseNumber(name.substr(0, name.size() - 1));
}

// Each name in the folder, in no order, until one is an error. A folder that is not there is empty;
// one that can't be read is an error.
template <class Visit>
base::Status EachEntry(const std::string& folder, Visit visit) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (base::Status visited = visit(at->path()); !visited) return visited;
  }
  if (!error || error == std::errc::no_such_file_or_directory) return base::Ok{};
  return base::OsError(folder, error.value());
}

}  // namespace

std::string GapMark(int64_t bytes) {
  if (bytes <= 0) return "";
  const std::string words = std::string(kGapWords) + std::to_string(bytes) +
                            " bytes of this log are missing here: they were lost before they were "
                            "stored]\n";
  if (bytes >= static_cast<int64_t>(words.size())) return words;
  return std::string(static_cast<size_t>(bytes - 1), '.') + "\n";
}

std::string LogFiles::Folder(base::JobId job) const { return folder_ + "/" + base::ToString(job); }

std::string LogFiles::Folder(const job::RankKey& key) const {
  return Folder(key.job) + "/" + std::to_string(key.attempt);
}

std::string LogFiles::Path(const job::RankKey& key, const Segment& segment) const {
  const std::string offset = segment.offset == 0 ? "" : "." + std::to_string(segment.offset);
  return Folder(key) + "/" + std::to_string(key.rank) + offset + ".log";
}

base::Result<LogFiles::Segments> LogFiles::Scan(const job::RankKey& key) const {
  Segments segments;
  const base::Status all = EachEntry(Folder(key), [&](const fs::path& file) -> base::Status {
    const auto offset = SegmentOffset(file.filename().string(), key.rank);
    struct stat status{};
    if (!offset) return base::Ok{};
    if (::stat(file.c_str(), &status) != 0)
      return errno == ENOENT ? base::Status(base::Ok{}) : base::OsError(file, errno);
    if (status.st_size > 0)
      segments.push_back({*offset, status.st_size});
    else
      ::unlink(file.c_str());  // of a full disk
    return base::Ok{};
  });
  if (!all) return all.error();
  std::sort(segments.begin(), segments.end(),
            [](const Segment& a, const Segment& b) { return a.offset < b.offset; });
  return segments;
}

base::Result<LogFiles::Segments*> LogFiles::Find(const job::RankKey& key) {
  const auto found = known_.find(key);
  if (found != known_.end()) return &found->second;
  base::Result<Segments> segments = Scan(key);
  if (!segments) return segments.error();
  if (known_.size() >= kMaxKnown) known_.clear();
  return &(known_[key] = std::move(*segments));
}

base::Result<int64_t> LogFiles::End(const job::RankKey& key) {
  const base::Result<Segments*> segments = Find(key);
  if (!segments) return segments.error();
  return EndOf(**segments);
}

base::Result<std::set<base::JobId>> LogFiles::Jobs() const {
  std::set<base::JobId> jobs;
  const base::Status all = EachEntry(folder_, [&](const fs::path& file) {
    const auto job = base::ParseJobId(file.filename().string());
    if (job && job->value <= kMostJobs) jobs.insert(*job);
    return base::Status(base::Ok{});
  });
  if (!all) return all.error();
  return jobs;
}

base::Result<base::JobId> LogFiles::LastJob() const {
  const base::Result<std::set<base::JobId>> jobs = Jobs();
  if (!jobs) return jobs.error();
  return jobs->empty() ? base::JobId() : *jobs->rbegin();
}

base::Result<bool> LogFiles::Has(base::JobId job) const {
  std::error_code error;
  const bool has = fs::exists(Folder(job), error);
  if (error) return base::OsError(Folder(job), error.value());
  return has;
}

base::Status LogFiles::Remove(base::JobId job) {
  std::erase_if(known_, [job](const auto& known) { return known.first.job == job; });
  std::error_code error;
  fs::remove_all(Folder(job), error);
  if (error) return base::OsError(Folder(job), error.value());
  return base::Ok{};
}

base::Result<LogFiles::Removal> LogFiles::RemoveSome(base::JobId job, int64_t files) {
  const std::string folder = Folder(job);
  std::error_code error, unknown;
  fs::recursive_directory_iterator at(folder, error);
  if (error == std::errc::no_such_file_or_directory) return Removal::kNothingThere;
  std::erase_if(known_, [job](const auto& known) { return known.first.job == job; });
  std::vector<fs::path> some;
  for (; !error && at != fs::end(at); at.increment(error)) {
    if (std::ssize(some) == files) break;
    if (!at->is_directory(unknown)) some.push_back(at->path());
  }
  if (error) return base::OsError(folder, error.value());
  for (const fs::path& file : some) {
    if (::unlink(file.c_str()) != 0 && errno != ENOENT) return base::OsError(file, errno);
  }
  if (std::ssize(some) == files) return Removal::kLeft;
  fs::remove_all(folder, error);
  if (error) return base::OsError(folder, error.value());
  return Removal::kDone;
}

base::Result<std::vector<LogSegment>> LogFiles::SegmentsOf(const job::RankKey& key) {
  const base::Result<Segments*> found = Find(key);
  if (!found) return found.error();
  std::vector<LogSegment> segments;
  for (const Segment& segment : **found)
    segments.push_back({Path(key, segment), segment.offset, segment.size});
  return segments;
}

base::Result<int64_t> LogFiles::Append(const job::RankKey& key, int64_t offset,
                                       std::string_view data, int64_t after) {
  const base::Result<Segments*> found = Find(key);
  if (!found) return found.error();
  Segments& segments = **found;
  const int64_t stored = EndOf(segments);
  if (after > stored) {
    return base::Error{base::Code::kConflict,
                       job::ToString(key) + ": bytes from " + std::to_string(stored) + " to " +
                           std::to_string(after) + " of its log are not stored yet"};
  }
  const int64_t skip = std::min<int64_t>(std::max<int64_t>(stored - offset, 0), data.size());
  data.remove_prefix(skip);
  offset += skip;
  if (data.empty()) return stored;
  if (!IsAsKnown(key, segments)) {
    base::Result<Segments> now = Scan(key);
    if (!now) return now.error();
    segments = std::move(*now);
    return Append(key, offset, data);
  }
  if (!segments.empty() && offset == stored && segments.back().size < bounds_.segment_bytes)
    return Write(key, &segments.back(), data);
  // The mark stands before the new segment's first byte, in place of the last bytes of the gap.
  const std::string mark = GapMark(offset - stored);
  Segment segment{offset - static_cast<int64_t>(mark.size()), 0};
  const auto written = Write(key, &segment, mark + std::string(data));
  if (segment.size == 0) return written;
  segments.push_back(segment);
  DropOldest(key, &segments);
  return written;
}

// Whether the last file is as long as is known: somebody else may have cut or deleted it.
bool LogFiles::IsAsKnown(const job::RankKey& key, const Segments& segments) const {
  struct stat status{};
  return segments.empty() || (::stat(Path(key, segments.back()).c_str(), &status) == 0 &&
                              status.st_size == segments.back().size);
}

// At the segment's end; what was written counts, an error or not. A new segment takes no other
// file's place, and leaves none where nothing could be written.
base::Result<int64_t> LogFiles::Write(const job::RankKey& key, Segment* segment,
                                      std::string_view data) {
  const bool is_new = segment->size == 0;
  std::error_code made;
  if (is_new) fs::create_directories(Folder(key), made);
  if (made) return base::OsError(Folder(key), made.value());
  const std::string path = Path(key, *segment);
  const int make = is_new ? O_CREAT | O_EXCL : 0;
  const base::Descriptor file(::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | make, 0644));
  const int64_t written = file.open() ? WriteAll(file.get(), data) : 0;
  const int error = errno;
  segment->size += written;
  if (written == static_cast<int64_t>(data.size())) return segment->End();
  if (file.open() && segment->size == 0) ::unlink(path.c_str());
  if (is_new && !file.open() && error == EEXIST) known_.erase(key);  // it is not as was known
  return base::OsError(path, error);
}

void LogFiles::DropOldest(const job::RankKey& key, Segments* segments) {
  int64_t bytes = 0;
  for (const Segment& segment : *segments) bytes += segment.size;
  while (segments->size() > 1 && (bytes > bounds_.rank_bytes || segments->size() > kMaxSegments)) {
    bytes -= segments->front().size;
    ::unlink(Path(key, segments->front()).c_str());
    segments->erase(segments->begin());
  }
}

// A file that was cut or deleted by somebody is a gap as any other, whenever that was. What lies
// before the first segment is no gap: the oldest ones go.
base::Result<LogFiles::Piece> LogFiles::Read(const job::RankKey& key, int64_t offset,
                                             int64_t max_bytes) {
  const base::Result<Segments*> found = Find(key);
  if (!found) return found.error();
  const Segments& segments = **found;
  const auto segment = std::find_if(segments.begin(), segments.end(),
                                    [&](const Segment& s) { return s.End() > offset; });
  if (segment == segments.end()) return Piece{"", std::max(offset, EndOf(segments))};
  const int64_t from = std::max(offset, segment->offset);
  Piece piece{std::string(std::min(max_bytes, segment->End() - from), '\0'), from};
  const std::string path = Path(key, *segment);
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.open() && errno != ENOENT) return base::OsError(path, errno);
  const ssize_t n = file.open() ? ::pread(file.get(), piece.data.data(), piece.data.size(),
                                          from - segment->offset)
                                : 0;
  if (n < 0) return base::OsError(path, errno);
  if (n == 0) return Piece{GapMark(segment->End() - from), segment->End()};
  piece.data.resize(n);
  piece.next_offset = from + n;
  const bool is_behind_gap = offset < segment->offset && segment != segments.begin();
  if (is_behind_gap && !kGapWords.starts_with(piece.data.substr(0, kGapWords.size())))
    return Piece{GapMark(segment->offset - offset), segment->offset};
  return piece;
}

}  // namespace trainctl::coordinator
