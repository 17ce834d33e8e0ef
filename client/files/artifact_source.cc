#include "client/files/artifact_source.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <utility>

#include "common/base/saved_folder.h"
#include "common/wire/artifact.h"

namespace trainctl::client {
namespace {

namespace fs = std::filesystem;

constexpr size_t kLocalPieceBytes = 8 << 20;
constexpr int kTries = 5;

base::Error Refused(const std::string& path, const std::error_code& error) {
  const bool missing = error == std::errc::no_such_file_or_directory;
  return {missing ? base::Code::kNotFound : base::Code::kIo, path + ": " + error.message()};
}

class LocalFiles : public ArtifactSource {
 public:
  explicit LocalFiles(std::string path) : path_(std::move(path)) {}

  base::Result<std::vector<job::ArtifactFile>> List() override {
    std::error_code error;
    const fs::file_status status = fs::status(path_, error);
    if (!fs::exists(status))
      return Refused(path_,
                     error ? error : std::make_error_code(std::errc::no_such_file_or_directory));
    std::vector<job::ArtifactFile> files;
    if (!fs::is_directory(status)) {
      files.push_back(
          {path_.filename().string(), static_cast<int64_t>(fs::file_size(path_, error))});
      is_file_ = true;
    } else {
      for (fs::recursive_directory_iterator at(path_, error), end; !error && at != end;
           at.increment(error)) {
        if (base::SkipCheckpoints(at) || !at->is_regular_file(error)) continue;
        files.push_back({at->path().lexically_relative(path_).string(),
                         static_cast<int64_t>(at->file_size(error))});
      }
    }
    if (error) return Refused(path_, error);
    std::sort(
        files.begin(), files.end(),
        [](const job::ArtifactFile& a, const job::ArtifactFile& b) { return a.path < b.path; });
    return files;
  }

  base::Result<std::string> Read(const std::string& file, int64_t offset) override {
    const fs::path path = is_file_ ? path_ : path_ / file;
    std::ifstream stream(path, std::ios::binary);
    std::string piece(kLocalPieceBytes, '\0');
    stream.seekg(offset);
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    if (!stream.is_open() || stream.bad())
      return base::Error{base::Code::kIo, path.string() + " can't be read"};
    piece.resize(static_cast<size_t>(stream.gcount()));
    return piece;
  }

 private:
  const fs::path path_;
  bool is_file_ = false;
};

class RemoteFiles : public ArtifactSource {
 public:
  RemoteFiles(Api& api, std::string job, std::string path, std::function<void()> retry_later)
      : api_(api), retry_later_(std::move(retry_later)) {
    request_.set_job(std::move(job));
    request_.set_path(std::move(path));
  }

  base::Result<std::vector<job::ArtifactFile>> List() override {
    base::Result<job::ArtifactPiece> piece = Ask("", 0);
    if (!piece.ok()) return piece.error();
    return std::move(piece->files);
  }

  base::Result<std::string> Read(const std::string& file, int64_t offset) override {
    base::Result<job::ArtifactPiece> piece = Ask(file, offset);
    if (!piece.ok()) return piece.error();
    return std::move(piece->data);
  }

 private:
  base::Result<job::ArtifactPiece> Ask(const std::string& file, int64_t offset) {
    request_.set_file(file);
    request_.set_offset(offset);
    for (int tries = 1;; ++tries) {
      base::Result<v1::ReadArtifactResponse> response = api_.ReadArtifact(request_);
      if (response.ok()) {
        listed_ = true;
        return wire::FromWire(std::move(*response));
      }
      const bool may_help = response.error().code == base::Code::kUnavailable && listed_;
      if (!may_help || tries == kTries) return response.error();
      retry_later_();
    }
  }

  Api& api_;
  const std::function<void()> retry_later_;
  v1::ReadArtifactRequest request_;
  bool listed_ = false;  // a worker has answered once
};

// What another machine calls a relative path may not lead out of the folder.
bool StaysInside(const std::string& path) {
  const fs::path relative(path);
  return !path.empty() && relative.is_relative() &&
         std::find(relative.begin(), relative.end(), "..") == relative.end();
}

base::Status CopyFile(ArtifactSource& source, const job::ArtifactFile& file, FolderDraft* draft,
                      const std::function<void(int64_t)>& on_piece) {
  if (!StaysInside(file.path))
    return base::Error{base::Code::kConflict, "'" + file.path + "' is no path within the artifact"};
  if (const base::Status made = draft->Append(file.path, ""); !made.ok()) return made;
  for (int64_t offset = 0; offset < file.bytes;) {
    const base::Result<std::string> piece = source.Read(file.path, offset);
    if (!piece.ok()) return piece.error();
    const auto bytes = static_cast<int64_t>(piece->size());
    if (bytes == 0 || offset + bytes > file.bytes) {
      return base::Error{base::Code::kConflict,
                         file.path + " has changed while it was copied: it was " +
                             std::to_string(file.bytes) + " bytes, and now ends at " +
                             std::to_string(offset + bytes)};
    }
    if (const base::Status written = draft->Append(file.path, *piece); !written.ok())
      return written;
    offset += bytes;
    on_piece(bytes);
  }
  return base::Ok{};
}

}  // namespace

std::unique_ptr<ArtifactSource> LocalArtifact(std::string path) {
  return std::make_unique<LocalFiles>(std::move(path));
}

std::unique_ptr<ArtifactSource> RemoteArtifact(Api& api, std::string job, std::string path,
                                               std::function<void()> retry_later) {
  return std::make_unique<RemoteFiles>(api, std::move(job), std::move(path),
                                       std::move(retry_later));
}

base::Status CopyFiles(ArtifactSource& source, const std::vector<job::ArtifactFile>& files,
                       FolderDraft* draft, const std::function<void(int64_t)>& on_progress) {
  int64_t done = 0;
  for (const job::ArtifactFile& file : files) {
    const base::Status copied =
        CopyFile(source, file, draft, [&](int64_t bytes) { on_progress(done += bytes); });
    if (!copied.ok()) return copied;
  }
  return base::Ok{};
}

int64_t BytesOf(const std::vector<job::ArtifactFile>& files) {
  int64_t bytes = 0;
  for (const job::ArtifactFile& file : files) bytes += file.bytes;
  return bytes;
}

}  // namespace trainctl::client
