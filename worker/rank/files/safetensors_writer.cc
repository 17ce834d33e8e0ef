#include "worker/rank/files/safetensors_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <unordered_set>
#include <utility>

#include "common/base/error_number.h"
#include "common/base/file.h"
#include "worker/rank/files/safetensors.h"

namespace trainctl::files {
namespace {

constexpr size_t kAlignment = 8;
constexpr int64_t kSyncBytes = int64_t{64} << 20;

std::string TemporaryName(const std::string& path) { return path + ".writing"; }

// Reads errno.
base::Error WriteError(const std::string& what, const std::string& path) {
  return base::OsError(what + " '" + path + "'", errno);
}

// Fills begin and end in the order of the list.
base::Status LayOut(const std::string& path, std::vector<TensorInfo>* tensors) {
  std::unordered_set<std::string> names = {"__metadata__"};
  int64_t begin = 0;
  for (TensorInfo& tensor : *tensors) {
    const auto fault = [&](const std::string& message) {
      return base::Error{base::Code::kInvalid, path + ": tensor '" + tensor.name + "' " + message};
    };
    if (!names.insert(tensor.name).second) return fault("stands twice, or has a reserved name");
    const auto bytes = ShapeBytes(tensor.dtype, tensor.shape);
    tensor.begin = begin;
    if (!bytes || __builtin_add_overflow(begin, *bytes, &tensor.end))
      return fault("has an impossible shape");
    begin = tensor.end;
  }
  return base::Ok{};
}

// Length and JSON, padded with spaces so that the tensors' bytes are aligned.
base::Result<std::string> Header(const std::string& path, const std::vector<TensorInfo>& tensors) {
  nlohmann::ordered_json document;
  document["__metadata__"] = {{"format", "pt"}};
  for (const TensorInfo& tensor : tensors) {
    document[tensor.name] = {{"dtype", Name(tensor.dtype)},
                             {"shape", tensor.shape},
                             {"data_offsets", {tensor.begin, tensor.end}}};
  }
  std::string text = document.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  if (text.size() > kMaxHeaderBytes) {
    return base::Error{base::Code::kInvalid, path + ": header of " + std::to_string(text.size()) +
                                                 " bytes, expected at most " +
                                                 std::to_string(kMaxHeaderBytes)};
  }
  std::string header;
  for (size_t i = 0; i < sizeof(uint64_t); ++i)
    header.push_back(static_cast<char>(text.size() >> (8 * i)));
  return header + text;
}

std::string FolderOf(const std::string& path) {
  const std::filesystem::path parent = std::filesystem::path(path).parent_path();
  return parent.empty() ? "." : parent.string();
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(std::string path, std::vector<TensorInfo> tensors, int fd)
    : path_(std::move(path)), tensors_(std::move(tensors)), fd_(fd) {}

SafetensorsWriter::SafetensorsWriter(SafetensorsWriter&& other) noexcept
    : path_(std::move(other.path_)),
      tensors_(std::move(other.tensors_)),
      fd_(std::exchange(other.fd_, -1)),
      appended_bytes_(other.appended_bytes_),
      written_bytes_(other.written_bytes_),
      sync_begun_(other.sync_begun_) {}

SafetensorsWriter::~SafetensorsWriter() {
  if (fd_ < 0) return;
  close(fd_);
  unlink(TemporaryName(path_).c_str());
}

base::Result<SafetensorsWriter> SafetensorsWriter::Create(const std::string& path,
                                                          std::vector<TensorInfo> tensors) {
  if (auto status = LayOut(path, &tensors); !status) return status.error();
  auto header = Header(path, tensors);
  if (!header) return header.error();
  const int fd = open(TemporaryName(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return WriteError("cannot create", TemporaryName(path));
  SafetensorsWriter writer(path, std::move(tensors), fd);
  if (auto status = writer.Write(std::as_bytes(std::span(*header))); !status) return status.error();
  return writer;
}

base::Status SafetensorsWriter::Write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return WriteError("cannot write", TemporaryName(path_));
    bytes = bytes.subspan(written);
    written_bytes_ += written;
    SyncBehind();
  }
  return base::Ok{};
}

// The disk works on the last piece while the next is written. So what counts as written is so, and
// the last sync is short. Faults show there.
void SafetensorsWriter::SyncBehind() {
  for (; written_bytes_ - sync_begun_ >= kSyncBytes; sync_begun_ += kSyncBytes) {
    sync_file_range(fd_, sync_begun_, kSyncBytes, SYNC_FILE_RANGE_WRITE);
    if (sync_begun_ == 0) continue;
    sync_file_range(
        fd_, sync_begun_ - kSyncBytes, kSyncBytes,
        SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  }
}

base::Status SafetensorsWriter::Append(std::span<const std::byte> bytes) {
  appended_bytes_ += static_cast<int64_t>(bytes.size());
  CHECK(fd_ >= 0 && appended_bytes_ <= total_bytes())
      << path_ << ": " << appended_bytes_ << " of " << total_bytes() << " bytes";
  return Write(bytes);
}

base::Status SafetensorsWriter::Finish() {
  CHECK(fd_ >= 0 && appended_bytes_ == total_bytes())
      << path_ << ": " << appended_bytes_ << " of " << total_bytes() << " bytes";
  if (fsync(fd_) != 0) return WriteError("cannot sync", TemporaryName(path_));
  if (rename(TemporaryName(path_).c_str(), path_.c_str()) != 0)
    return WriteError("cannot rename to", path_);
  close(std::exchange(fd_, -1));
  return base::SyncFolder(FolderOf(path_));
}

}  // namespace trainctl::files
