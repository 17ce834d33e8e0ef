#include "worker/agent/artifact_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "common/base/descriptor.h"
#include "common/base/error_number.h"
#include "common/base/open_beneath.h"
#include "common/base/saved_folder.h"
#include "worker/agent/owner_rights.h"

namespace trainctl::agent {
namespace {

using Piece = base::Result<job::ArtifactPiece>;

base::Error Changed(const std::string& path) {
  return {base::Code::kConflict, path + " is not what was saved: something else has its place"};
}

// The saved folder or file itself, opened as a place only.
base::Result<base::Descriptor> OpenRoot(const std::string& path, const base::SavedRecord& record,
                                        const base::FileRoots& roots) {
  base::Descriptor root(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status{};
  if (!root.open() || ::fstat(root.get(), &status) != 0) return base::OsError(path, errno);
  if (!record.IsOf(status)) return Changed(path);
  const base::Status within = base::CheckWithin(root, path, base::FileUse::kRead, roots);
  if (!within) return within.error();
  return root;
}

// A file below the root, without following any link; of a root that is a file, itself.
base::Descriptor OpenBelow(const base::Descriptor& root, const std::string& file) {
  struct stat status{};
  if (::fstat(root.get(), &status) == 0 && S_ISREG(status.st_mode))
    return base::Descriptor(::open(("/proc/self/fd/" + std::to_string(root.get())).c_str(),
                                   O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  return base::OpenBeneath(root, file, O_RDONLY | O_NONBLOCK);
}

job::ArtifactPiece List(const base::SavedRecord& record) {
  job::ArtifactPiece piece;
  for (const base::SavedFile& file : record.files) piece.files.push_back({file.path, file.bytes});
  return piece;
}

Piece ReadPiece(const base::Descriptor& file, const std::string& name, int64_t offset) {
  job::ArtifactPiece piece;
  piece.data.resize(job::ArtifactPiece::kMaxBytes);
  size_t done = 0;
  while (done < piece.data.size()) {
    const ssize_t got = ::pread(file.get(), piece.data.data() + done, piece.data.size() - done,
                                offset + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::OsError(name, errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  piece.data.resize(done);
  return piece;
}

}  // namespace

Piece ReadArtifact(const job::ArtifactQuestion& question, const job::HostRules& rules) {
  if (question.offset < 0)
    return base::Error{base::Code::kInvalid,
                       "offset " + std::to_string(question.offset) + ": expected one from 0"};
  const base::Result<base::SavedRecord> record = base::ParseSavedRecord(question.record);
  if (!record)
    return base::Error{base::Code::kInvalid,
                       question.path + ": nobody recorded which files were saved there"};
  const base::Result<base::FileRoots> roots = job::RootsOf(rules, question.owner);
  if (!roots) return roots.error();
  const base::Status rights = TakeRightsOf(question.owner, rules);
  if (!rights) return rights.error();
  const base::Result<base::Descriptor> root = OpenRoot(question.path, *record, *roots);
  if (!root) return root.error();
  if (question.file.empty()) return List(*record);
  const std::string name = question.path + "/" + question.file;
  const base::SavedFile* saved = record->Find(question.file);
  if (saved == nullptr)
    return base::Error{base::Code::kNotFound, name + " was not saved by the job"};
  const base::Descriptor file = OpenBelow(*root, question.file);
  struct stat status{};
  if (!file.open() || ::fstat(file.get(), &status) != 0) return base::OsError(name, errno);
  return saved->IsOf(status) ? ReadPiece(file, name, question.offset) : Changed(name);
}

}  // namespace trainctl::agent
