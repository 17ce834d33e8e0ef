#include "worker/agent/artifact_reader.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "common/base/saved_folder.h"
#include "worker/shim/descriptor.h"

namespace trainctl::agent {
namespace {

namespace fs = std::filesystem;

base::Error Failed(const std::string& path, int error) {
  return {error == ENOENT ? base::Code::kNotFound : base::Code::kIo,
          path + ": " + std::strerror(error)};
}

base::Result<ArtifactPiece> List(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) return Failed(path, error ? error.value() : ENOENT);
  ArtifactPiece piece;
  if (fs::is_regular_file(status)) {
    piece.files.push_back(
        {fs::path(path).filename().string(), static_cast<int64_t>(fs::file_size(path, error))});
  } else {
    for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
         at.increment(error)) {
      if (base::SkipCheckpoints(at) || !fs::is_regular_file(at->symlink_status(error))) continue;
      if (piece.files.size() == kMaxFiles) {
        return base::Error{base::Code::kExhausted,
                           path + " has more than " + std::to_string(kMaxFiles) + " files"};
      }
      piece.files.push_back({at->path().lexically_relative(path).string(),
                             static_cast<int64_t>(at->file_size(error))});
    }
  }
  if (error) return Failed(path, error.value());
  std::sort(piece.files.begin(), piece.files.end(),
            [](const ArtifactFile& a, const ArtifactFile& b) { return a.path < b.path; });
  return piece;
}

// Part by part, so that no part can lead elsewhere.
base::Result<shim::Descriptor> OpenBelow(const std::string& path, const std::string& file) {
  const fs::path relative(file);
  shim::Descriptor at(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!at.open()) return Failed(path, errno);
  struct stat root{};
  if (::fstat(at.get(), &root) == 0 && S_ISREG(root.st_mode) && file == fs::path(path).filename())
    return at;
  for (const fs::path& part : relative) {
    const std::string name = part.string();
    if (name.empty() || name == "." || name == ".." || name == "/") {
      return base::Error{base::Code::kInvalid, "'" + file + "' is no path within " + path};
    }
    shim::Descriptor next(
        ::openat(at.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!next.open()) return Failed(path + "/" + file, errno);
    at = std::move(next);
  }
  return at;
}

base::Result<ArtifactPiece> Read(const ArtifactQuestion& question) {
  const base::Result<shim::Descriptor> file = OpenBelow(question.path, question.file);
  if (!file) return file.error();
  const std::string name = question.path + "/" + question.file;
  struct stat status{};
  if (::fstat(file->get(), &status) != 0) return Failed(name, errno);
  if (!S_ISREG(status.st_mode)) return base::Error{base::Code::kInvalid, name + " is no file"};
  ArtifactPiece piece;
  piece.data.resize(kMaxPieceBytes);
  size_t done = 0;
  while (done < piece.data.size()) {
    const ssize_t got = ::pread(file->get(), piece.data.data() + done, piece.data.size() - done,
                                question.offset + static_cast<off_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed(name, errno);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  piece.data.resize(done);
  return piece;
}

}  // namespace

base::Result<ArtifactPiece> ReadArtifact(const ArtifactQuestion& question) {
  if (question.offset < 0)
    return base::Error{base::Code::kInvalid,
                       "offset " + std::to_string(question.offset) + ": expected one from 0"};
  return question.file.empty() ? List(question.path) : Read(question);
}

ArtifactReader::~ArtifactReader() {
  *alive_ = false;
  thread_.stop();
  thread_.join();
}

void ArtifactReader::Ask(ArtifactQuestion question, Answer answer) {
  if (waiting_ >= kMaxWaiting) {
    return answer(base::Error{base::Code::kExhausted,
                              std::to_string(kMaxWaiting) + " reads wait already: try again"});
  }
  ++waiting_;
  boost::asio::post(thread_, [this, alive = alive_, question = std::move(question),
                              answer = std::move(answer)]() mutable {
    base::Result<ArtifactPiece> piece = ReadArtifact(question);
    boost::asio::post(io_, [this, alive = std::move(alive), piece = std::move(piece),
                            answer = std::move(answer)]() mutable {
      if (!*alive) return;
      --waiting_;
      answer(std::move(piece));
    });
  });
}

}  // namespace trainctl::agent
