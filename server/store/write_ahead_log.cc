#include "server/store/write_ahead_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "common/base/descriptor.h"
#include "common/base/error_number.h"
#include "server/store/database.h"

namespace trainctl::store {
namespace {

using Bytes = std::span<const unsigned char>;

constexpr size_t kHeaderBytes = 32, kFrameHeaderBytes = 24;
constexpr uint32_t kLittleEndianSums = 0x377f0682, kBigEndianSums = 0x377f0683;
constexpr uint32_t kMostPageBytes = 1 << 16;

uint32_t BigEndian(Bytes bytes, size_t at) {
  return uint32_t{bytes[at]} << 24 | uint32_t{bytes[at + 1]} << 16 | uint32_t{bytes[at + 2]} << 8 |
         uint32_t{bytes[at + 3]};
}

uint32_t LittleEndian(Bytes bytes, size_t at) {
  return uint32_t{bytes[at + 3]} << 24 | uint32_t{bytes[at + 2]} << 16 |
         uint32_t{bytes[at + 1]} << 8 | uint32_t{bytes[at]};
}

struct Checksum {
  uint32_t first = 0, second = 0;
  bool operator==(const Checksum&) const = default;
};

// bytes: a multiple of eight of them.
Checksum Continue(Checksum sum, Bytes bytes, bool is_big_endian) {
  const auto word = is_big_endian ? BigEndian : LittleEndian;
  for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
    sum.first += word(bytes, at) + sum.second;
    sum.second += word(bytes, at + 4) + sum.first;
  }
  return sum;
}

Checksum Stored(Bytes bytes, size_t at) { return {BigEndian(bytes, at), BigEndian(bytes, at + 4)}; }

// A frame whose salts are the header's was written since the log began anew.
bool HasSalts(Bytes header, Bytes frame) {
  return BigEndian(header, 16) == BigEndian(frame, 8) &&
         BigEndian(header, 20) == BigEndian(frame, 12);
}

bool EndsTransaction(Bytes frame) { return BigEndian(frame, 4) != 0; }

// All bytes of the buffer, or fewer at the end of the file.
base::Result<size_t> ReadAt(const std::string& path, int file, off_t at,
                            std::vector<unsigned char>* buffer) {
  size_t read = 0;
  while (read < buffer->size()) {
    const ssize_t got =
        ::pread(file, buffer->data() + read, buffer->size() - read, at + static_cast<off_t>(read));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::OsError("cannot read " + path, errno);
    if (got == 0) break;
    read += static_cast<size_t>(got);
  }
  return read;
}

}  // namespace

base::Status CheckWriteAheadLog(const std::string& database_path) {
  const std::string path = database_path + "-wal";
  const base::Descriptor file(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file.open()) return base::Ok{};  // SQLite says what is wrong with a file that is there
  const auto damaged = [&](const std::string& where) {
    return base::Error{base::Code::kIo, Damaged(path + ": " + where)};
  };

  std::vector<unsigned char> header(kHeaderBytes + 1);
  base::Result<size_t> read = ReadAt(path, file.get(), 0, &header);
  if (!read) return read.error();
  if (*read <= kHeaderBytes) return base::Ok{};  // no frame
  const Bytes fields = Bytes(header).first(kHeaderBytes);
  const uint32_t magic = BigEndian(fields, 0), page_bytes = BigEndian(fields, 8);
  const bool is_big_endian = magic == kBigEndianSums;
  Checksum sum = Continue({}, fields.first(24), is_big_endian);
  if ((magic != kLittleEndianSums && !is_big_endian) || sum != Stored(fields, 24) ||
      page_bytes > kMostPageBytes || page_bytes % 8 != 0 || page_bytes == 0)
    return damaged("its header");

  std::vector<unsigned char> frame(kFrameHeaderBytes + page_bytes);
  int64_t number = 0, first_bad = 0, ends_behind = 0;
  for (auto at = static_cast<off_t>(kHeaderBytes);; at += static_cast<off_t>(frame.size())) {
    read = ReadAt(path, file.get(), at, &frame);
    if (!read) return read.error();
    if (*read < frame.size()) return base::Ok{};
    ++number;
    const Bytes bytes(frame);
    if (first_bad == 0) {
      sum = Continue(Continue(sum, bytes.first(8), is_big_endian), bytes.subspan(kFrameHeaderBytes),
                     is_big_endian);
      if (!HasSalts(fields, bytes) || sum != Stored(bytes, 16)) first_bad = number;
    }
    if (first_bad != 0 && HasSalts(fields, bytes) && EndsTransaction(bytes) && ++ends_behind == 2)
      return damaged("frame " + std::to_string(first_bad) +
                     ", behind which there are others that were committed");
  }
}

}  // namespace trainctl::store
