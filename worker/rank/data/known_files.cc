#include "worker/rank/data/known_files.h"

#include <ctime>
#include <filesystem>

#include "common/base/file.h"
#include "worker/rank/files/digest.h"

namespace trainctl::data {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kSettledNs = 2 * kSecond;  // longer than any file system's tick
constexpr size_t kMostKeptBytes = 1 << 20;
constexpr uint64_t kPlaces = 256;  // of a folder; another data set may take one over

}  // namespace

int64_t KnownFiles::NowNs() {
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  return now.tv_sec * kSecond + now.tv_nsec;
}

base::Result<KnownFiles> KnownFiles::Of(const std::vector<std::string>& paths, int64_t now_ns) {
  KnownFiles known;
  known.paths_ = paths;
  known.known_ns_ = now_ns;
  for (const std::string& path : paths) {
    const auto identity = files::IdentityOf(path);
    if (!identity) return identity.error();
    known.identities_.push_back(*identity);
  }
  return known;
}

base::Status KnownFiles::CheckUnchanged() const {
  for (size_t i = 0; i < paths_.size(); ++i) {
    auto now = files::IdentityOf(paths_[i]);
    if (now) now->changed_ns = identities_[i].changed_ns;  // a new link or owner leaves the bytes
    if (now && *now == identities_[i]) continue;
    return base::Error{base::Code::kInvalid,
                       paths_[i] + ": was changed or replaced while it was read; submit the job " +
                           "again once it stays as it is"};
  }
  return base::Ok{};
}

std::string KnownFiles::Text() const {
  std::string text = "trainctl digest 1\n";
  for (size_t i = 0; i < paths_.size(); ++i) {
    const files::FileIdentity& file = identities_[i];
    text += paths_[i] + "\n" + std::to_string(file.device) + " " + std::to_string(file.inode) +
            " " + std::to_string(file.bytes) + " " + std::to_string(file.modified_ns) + " " +
            std::to_string(file.changed_ns) + "\n";
  }
  return text;
}

std::string KnownFiles::PathIn(const std::string& folder) const {
  std::string names;
  for (const std::string& path : paths_) names += path + "\n";
  const uint64_t place = files::Xxh64(std::as_bytes(std::span(names))) % kPlaces;
  return folder + "/digest-" + std::to_string(place);
}

std::optional<std::string> KnownFiles::FindDigest(const std::string& folder) const {
  if (folder.empty()) return std::nullopt;
  const auto kept = base::ReadRegularFile(PathIn(folder), kMostKeptBytes);
  const std::string text = Text();
  if (!kept || !kept->starts_with(text)) return std::nullopt;
  const std::string digest = kept->substr(text.size());
  const std::string any = files::Digest({});
  const bool is_whole = digest.size() == any.size() && digest.starts_with(any.substr(0, 6)) &&
                        digest.find_first_not_of("0123456789abcdef", 6) == std::string::npos;
  return is_whole ? std::optional(digest) : std::nullopt;
}

void KnownFiles::KeepDigest(const std::string& folder, const std::string& digest) const {
  if (folder.empty()) return;
  int64_t bytes = 0;
  for (const files::FileIdentity& file : identities_) {
    if (std::max(file.changed_ns, file.modified_ns) > known_ns_ - kSettledNs) return;
    bytes += file.bytes;
  }
  if (bytes < kLeastKeptBytes || Text().size() + digest.size() > kMostKeptBytes) return;
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  if (const base::Status kept = base::WriteFileAtomically(PathIn(folder), Text() + digest); !kept)
    return;
}

}  // namespace trainctl::data
