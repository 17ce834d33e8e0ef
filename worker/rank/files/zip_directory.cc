#include "worker/rank/files/zip_directory.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <unordered_set>

#include "worker/rank/files/lfs_pointer.h"
#include "worker/rank/files/tensor_text.h"

namespace trainctl::files {
namespace {

using Bytes = std::span<const std::byte>;

constexpr uint32_t kEndSignature = 0x06054b50, kEnd64Signature = 0x06064b50,
                   kLocator64Signature = 0x07064b50;
constexpr uint32_t kCentralSignature = 0x02014b50, kLocalSignature = 0x04034b50;
constexpr size_t kEndBytes = 22, kEnd64Bytes = 56, kLocator64Bytes = 20, kCentralBytes = 46,
                 kLocalBytes = 30;
constexpr size_t kMaxComment = 0xFFFF;
constexpr uint32_t kIn64 = 0xFFFFFFFF;  // the value stands in the zip64 extra field
constexpr uint16_t kZip64Extra = 1;
constexpr uint64_t kMostEntries = 1'000'000;

template <class Word>
Word Read(Bytes bytes, size_t at) {  // little endian
  Word word;
  std::memcpy(&word, bytes.data() + at, sizeof word);
  return word;
}

// [begin, begin + count) of the bytes; nullopt where that is not all inside.
std::optional<Bytes> Part(Bytes bytes, uint64_t begin, uint64_t count) {
  if (begin > bytes.size() || count > bytes.size() - begin) return std::nullopt;
  return bytes.subspan(begin, count);
}

std::string_view Text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Where the central directory lies.
struct Central {
  uint64_t entries = 0, size = 0, offset = 0;
};

std::optional<size_t> FindEnd(Bytes file) {
  if (file.size() < kEndBytes) return std::nullopt;
  const size_t last = file.size() - kEndBytes;
  const size_t first = last > kMaxComment ? last - kMaxComment : 0;
  for (size_t at = last + 1; at-- > first;) {
    if (Read<uint32_t>(file, at) == kEndSignature &&
        at + kEndBytes + Read<uint16_t>(file, at + 20) == file.size())
      return at;
  }
  return std::nullopt;
}

std::optional<Central> FindCentral64(Bytes file, size_t end) {
  if (end < kLocator64Bytes || Read<uint32_t>(file, end - kLocator64Bytes) != kLocator64Signature)
    return std::nullopt;
  const auto record = Part(file, Read<uint64_t>(file, end - kLocator64Bytes + 8), kEnd64Bytes);
  if (!record || Read<uint32_t>(*record, 0) != kEnd64Signature) return std::nullopt;
  return Central{Read<uint64_t>(*record, 32), Read<uint64_t>(*record, 40),
                 Read<uint64_t>(*record, 48)};
}

// Sizes and place of an entry, as its header or its zip64 extra field says.
struct Extent {
  uint64_t size, stored, offset;
};

// The extra field's values stand in the order of the fields that point to it.
bool ApplyZip64(Bytes extra, Extent* extent) {
  while (extra.size() >= 4) {
    const auto id = Read<uint16_t>(extra, 0);
    const auto field = Part(extra, 4, Read<uint16_t>(extra, 2));
    if (!field) return false;
    Bytes values = *field;
    for (uint64_t* value : {&extent->size, &extent->stored, &extent->offset}) {
      if (id != kZip64Extra || *value != kIn64) continue;
      if (values.size() < sizeof(uint64_t)) return false;
      *value = Read<uint64_t>(values, 0);
      values = values.subspan(sizeof(uint64_t));
    }
    extra = extra.subspan(4 + field->size());
  }
  return true;
}

// The bytes behind an entry's local header.
std::optional<Bytes> Locate(Bytes file, const Extent& extent) {
  const auto local = Part(file, extent.offset, kLocalBytes);
  if (!local || Read<uint32_t>(*local, 0) != kLocalSignature) return std::nullopt;
  const uint64_t begin =
      extent.offset + kLocalBytes + Read<uint16_t>(*local, 26) + Read<uint16_t>(*local, 28);
  return Part(file, begin, extent.size);
}

}  // namespace

base::Result<std::vector<ZipEntry>> ReadZipDirectory(Bytes file, const std::string& source) {
  const auto fault = [&](const std::string& what) {
    return base::Error{base::Code::kInvalid, source + ": " + what};
  };
  if (IsLfsPointer({reinterpret_cast<const char*>(file.data()), file.size()}))
    return fault(std::string(kLfsPointerText));
  const std::optional<size_t> end = FindEnd(file);
  if (!end)
    return fault(
        "no zip archive, as torch.save writes it: its directory is missing (a cut file, or "
        "PyTorch's format before 1.6)");
  Central central{Read<uint16_t>(file, *end + 10), Read<uint32_t>(file, *end + 12),
                  Read<uint32_t>(file, *end + 16)};
  if (const auto wide = FindCentral64(file, *end)) central = *wide;
  const auto directory = Part(file, central.offset, central.size);
  if (!directory || central.entries > kMostEntries)
    return fault("its zip directory lies outside of the file");

  std::vector<ZipEntry> entries;
  std::unordered_set<std::string_view> names;
  Bytes rest = *directory;
  for (uint64_t i = 0; i < central.entries; ++i) {
    if (rest.size() < kCentralBytes || Read<uint32_t>(rest, 0) != kCentralSignature)
      return fault("its zip directory ends too early");
    const auto name = Part(rest, kCentralBytes, Read<uint16_t>(rest, 28));
    const auto extra =
        name ? Part(rest, kCentralBytes + name->size(), Read<uint16_t>(rest, 30)) : std::nullopt;
    const uint64_t comment = Read<uint16_t>(rest, 32);
    if (!extra || !Part(rest, kCentralBytes + name->size() + extra->size(), comment))
      return fault("its zip directory ends too early");
    const auto entry = [&](const std::string& what) {
      return fault("entry '" + ShownName(Text(*name)) + "' " + what);
    };
    const bool is_plain = (Read<uint16_t>(rest, 8) & 1) == 0 && Read<uint16_t>(rest, 10) == 0;
    if (!is_plain) return entry("is compressed or encrypted: expected stored bytes");
    Extent extent{Read<uint32_t>(rest, 24), Read<uint32_t>(rest, 20), Read<uint32_t>(rest, 42)};
    if (!ApplyZip64(*extra, &extent) || extent.size != extent.stored)
      return entry("has sizes that contradict each other");
    const auto bytes = Locate(file, extent);
    if (!bytes) return entry("lies outside of the file");
    if (!names.insert(Text(*name)).second) return entry("stands twice");
    entries.push_back({Text(*name), *bytes});
    rest = rest.subspan(kCentralBytes + name->size() + extra->size() + comment);
  }
  return entries;
}

}  // namespace trainctl::files
