#include "common/base/file_roots.h"

#include <fcntl.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "common/base/site_folder.h"

namespace trainctl::base {
namespace {

namespace fs = std::filesystem;

Descriptor OpenPlace(const fs::path& path, int flags = 0) {
  return Descriptor(::open(path.c_str(), O_PATH | O_CLOEXEC | flags));
}

// Where an opened file truly lies; nullopt: nobody can tell.
std::optional<fs::path> TruePath(const Descriptor& opened) {
  std::error_code error;
  fs::path path = fs::read_symlink("/proc/self/fd/" + std::to_string(opened.get()), error);
  if (error || !path.is_absolute()) return std::nullopt;
  return path;
}

// Of a path that may not be there yet. nullopt: nobody can tell, or a link leads to nothing.
std::optional<fs::path> TruePathOf(fs::path path) {
  fs::path missing;
  for (;;) {
    const Descriptor place = OpenPlace(path);
    if (place.open()) {
      const std::optional<fs::path> found = TruePath(place);
      return found && !missing.empty() ? *found / missing : found;
    }
    const fs::path name = path.filename();
    const Descriptor link = OpenPlace(path, O_NOFOLLOW);
    if (link.open() || name == ".." || !path.has_relative_path()) return std::nullopt;
    if (!name.empty() && name != ".") missing = missing.empty() ? name : name / missing;
    path = path.parent_path();
  }
}

bool IsBelow(const fs::path& path, const fs::path& root) {
  return std::ranges::mismatch(root, path).in1 == root.end();
}

std::string Join(const std::vector<std::string>& texts) {
  std::string joined;
  for (const std::string& text : texts) joined += (joined.empty() ? "" : ", ") + text;
  return joined;
}

Error Outside(const std::string& where, FileUse use, const std::vector<std::string>& allowed) {
  const std::string verb = use == FileUse::kRead ? "read" : "write";
  return {Code::kDenied,
          where + " lies outside of what this job may " + verb + " here: " + Join(allowed)};
}

Status Judge(const std::string& path, const std::optional<fs::path>& truth, FileUse use,
             const std::vector<std::string>& allowed) {
  for (const std::string& root : allowed) {
    const Descriptor place = OpenPlace(root, O_DIRECTORY);
    const std::optional<fs::path> folder = place.open() ? TruePath(place) : std::nullopt;
    if (folder && truth && IsBelow(*truth, *folder)) return Ok{};
  }
  std::string where = path;
  if (!truth) where += " (which leads to nothing that can be looked at)";
  if (truth && *truth != fs::path(path).lexically_normal())
    where += " (in truth " + truth->string() + ")";
  return Outside(where, use, allowed);
}

// Without "." and "..", and without a last slash.
fs::path Plain(const std::string& path) {
  const fs::path plain = fs::path(path).lexically_normal();
  return plain.has_filename() || !plain.has_relative_path() ? plain : plain.parent_path();
}

}  // namespace

std::vector<std::string> RootsFor(const FileRoots& roots, FileUse use) {
  if (use == FileUse::kWrite || roots.read.empty())
    return use == FileUse::kWrite ? roots.write : roots.read;
  std::vector<std::string> both = roots.read;
  both.insert(both.end(), roots.write.begin(), roots.write.end());
  return both;
}

Status CheckWithin(const std::string& path, FileUse use, const FileRoots& roots) {
  const std::vector<std::string> allowed = RootsFor(roots, use);
  if (allowed.empty()) return Ok{};
  const bool absolute = fs::path(path).is_absolute();
  return Judge(path, absolute ? TruePathOf(path) : std::nullopt, use, allowed);
}

Status CheckNamedWithin(const std::string& path, FileUse use, const FileRoots& roots) {
  const std::vector<std::string> allowed = RootsFor(roots, use);
  const bool is_within =
      allowed.empty() || std::ranges::any_of(allowed, [&](const std::string& root) {
        return IsBelow(Plain(path), Plain(root));
      });
  return is_within ? Status(Ok{}) : Outside(path, use, allowed);
}

Status CheckWithin(const Descriptor& opened, const std::string& path, FileUse use,
                   const FileRoots& roots) {
  const std::vector<std::string> allowed = RootsFor(roots, use);
  return allowed.empty() ? Status(Ok{}) : Judge(path, TruePath(opened), use, allowed);
}

Status CheckPathOfJob(const std::string& path, FileUse use, const FileRoots& roots) {
  const Status within = CheckWithin(path, use, roots);
  return within && use == FileUse::kWrite ? CheckNoSiteFolder(path) : within;
}

}  // namespace trainctl::base
