#include "worker/rank/data/picture_spool.h"

#include <array>
#include <cstring>
#include <span>
#include <utility>

#include "worker/rank/files/mapped_file.h"

namespace trainctl::data {
namespace {

constexpr std::string_view kPictureMagic = "TRAINCTL PICTURE";

base::Error CannotKeep(const std::string& folder, const std::string& why) {
  return {base::Code::kExhausted,
          "pictures can't be kept in the cache folder '" + folder + "': " + why};
}

}  // namespace

std::shared_ptr<PictureSpool> PictureSpool::OfFile(const std::string& path) {
  auto file = SpoolFile::OfPublished(path);
  if (!file) return nullptr;
  const auto map = file->Map();
  if (!map || !map->text().starts_with(kPictureMagic) || map->text().size() < SpoolFile::kHeadBytes)
    return nullptr;
  auto spool = std::make_shared<PictureSpool>("");
  spool->bytes_ = std::ssize(map->bytes());
  spool->file_ = std::move(*file);
  return spool;
}

base::Result<int64_t> PictureSpool::Reserve(int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (!file_.is_open()) {
    if (folder_.empty()) return CannotKeep(folder_, "there is none");
    if (const auto opened = file_.Open(folder_); !opened)
      return CannotKeep(folder_, opened.error().message);
    bytes_ = SpoolFile::kHeadBytes;
  }
  return std::exchange(bytes_, bytes_ + bytes);
}

base::Result<images::PictureFile> PictureSpool::Append(std::string_view bytes, std::string name) {
  const auto begin = Reserve(std::ssize(bytes));
  if (!begin) return begin.error();
  if (const auto written = file_.WriteAt(std::as_bytes(std::span(bytes)), *begin); !written)
    return CannotKeep(folder_, written.error().message);
  return images::PictureFile{
      .path = "", .begin = *begin, .bytes = std::ssize(bytes), .name = std::move(name)};
}

int64_t PictureSpool::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::string PictureSpool::path() const {
  const std::lock_guard lock(mutex_);
  return file_.OpenName();
}

bool PictureSpool::Publish(const std::string& path) {
  const std::lock_guard lock(mutex_);
  if (!file_.is_open()) return false;
  std::array<std::byte, SpoolFile::kHeadBytes> head = {};
  std::memcpy(head.data(), kPictureMagic.data(), kPictureMagic.size());
  return file_.Publish(head, path);
}

}  // namespace trainctl::data
