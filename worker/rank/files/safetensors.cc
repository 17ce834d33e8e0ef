#include "worker/rank/files/safetensors.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "worker/rank/files/json_text.h"
#include "worker/rank/files/lfs_pointer.h"
#include "worker/rank/files/tensor_text.h"

namespace trainctl::files {
namespace {

using nlohmann::json;

constexpr int64_t kLengthBytes = 8;
constexpr size_t kMostValueBytes = 200;  // that a message shows

base::Error Invalid(const std::string& source, const std::string& message) {
  return {base::Code::kInvalid, source + ": " + message};
}

// The header's length in bytes, checked against the file's.
base::Result<int64_t> HeaderBytes(std::span<const std::byte> file, const std::string& source) {
  if (file.size() < kLengthBytes) {
    return Invalid(source,
                   std::to_string(file.size()) +
                       " bytes are too few for a safetensors file; is the download complete?");
  }
  if (IsLfsPointer({reinterpret_cast<const char*>(file.data()), file.size()}))
    return Invalid(source, std::string(kLfsPointerText));
  uint64_t length = 0;
  for (int i = kLengthBytes - 1; i >= 0; --i) length = length << 8 | static_cast<uint64_t>(file[i]);
  if (length > kMaxHeaderBytes) {
    return Invalid(source, "header of " + std::to_string(length) + " bytes, expected at most " +
                               std::to_string(kMaxHeaderBytes) +
                               "; this is not a safetensors file");
  }
  if (length > file.size() - kLengthBytes) {
    return Invalid(source, "header of " + std::to_string(length) + " bytes in a file of " +
                               std::to_string(file.size()) + "; is the download complete?");
  }
  return static_cast<int64_t>(length);
}

bool IsCount(const json& value) {
  return value.is_number_unsigned() && value.get<uint64_t>() <= uint64_t{INT64_MAX};
}

base::Result<TensorInfo> ReadTensor(const std::string& name, const json& entry,
                                    const std::string& source) {
  const auto fault = [&](const std::string& message) {
    return Invalid(source, TensorText(name) + ": " + message);
  };
  if (!entry.is_object() || !entry.contains("dtype") || !entry.contains("shape") ||
      !entry.contains("data_offsets")) {
    return fault("expected an object of dtype, shape and data_offsets");
  }
  TensorInfo info;
  info.name = name;
  const json& dtype = entry["dtype"];
  const auto known = dtype.is_string() ? ParseDType(dtype.get<std::string>()) : std::nullopt;
  if (!known) return fault("unknown dtype " + base::Excerpt(dtype.dump(), kMostValueBytes));
  info.dtype = *known;
  const json& shape = entry["shape"];
  if (!shape.is_array() || !std::all_of(shape.begin(), shape.end(), IsCount))
    return fault("shape must be a list of sizes");
  info.shape = shape.get<std::vector<int64_t>>();
  const json& offsets = entry["data_offsets"];
  if (!offsets.is_array() || offsets.size() != 2 || !IsCount(offsets[0]) || !IsCount(offsets[1])) {
    return fault("data_offsets must be [begin, end]");
  }
  info.begin = offsets[0].get<int64_t>();
  info.end = offsets[1].get<int64_t>();
  const auto expected_bytes = ShapeBytes(info.dtype, info.shape);
  if (info.end < info.begin || !expected_bytes || info.size_bytes() != *expected_bytes) {
    return fault("data_offsets " + offsets.dump() + " do not fit shape " +
                 base::Excerpt(shape.dump(), kMostValueBytes) + " of " +
                 std::string(Name(info.dtype)));
  }
  return info;
}

// After sorting by place: each tensor begins where the one before it ended, and the last ends with
// the file.
base::Status CheckLayout(const std::vector<TensorInfo>& tensors, int64_t data_bytes,
                         const std::string& source) {
  int64_t expected_begin = 0;
  for (const TensorInfo& tensor : tensors) {
    if (tensor.begin != expected_begin) {
      return Invalid(source, TensorText(tensor.name) + " begins at byte " +
                                 std::to_string(tensor.begin) + ", expected " +
                                 std::to_string(expected_begin) +
                                 (tensor.begin < expected_begin ? ": an overlap" : ": a hole"));
    }
    expected_begin = tensor.end;
  }
  if (expected_begin != data_bytes) {
    return Invalid(source, "the tensors end at byte " + std::to_string(expected_begin) + " of " +
                               std::to_string(data_bytes) +
                               (expected_begin > data_bytes ? "; is the download complete?"
                                                            : "; bytes are left over"));
  }
  return base::Ok{};
}

base::Status ReadMetadata(const json& entry, const std::string& source,
                          std::map<std::string, std::string>* metadata) {
  const auto is_string = [](const json& value) { return value.is_string(); };
  if (!entry.is_object() || !std::all_of(entry.begin(), entry.end(), is_string)) {
    return Invalid(source, "__metadata__ must be an object of strings");
  }
  *metadata = entry.get<std::map<std::string, std::string>>();
  return base::Ok{};
}

}  // namespace

base::Result<SafetensorsHeader> ParseSafetensorsHeader(std::span<const std::byte> file,
                                                       const std::string& source) {
  auto header_bytes = HeaderBytes(file, source);
  if (!header_bytes) return header_bytes.error();
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + kLengthBytes,
                              *header_bytes);
  auto document = ParseJsonText(text, source + " (header)");
  if (!document) return document.error();
  if (!document->is_object()) return Invalid(source, "the header is not a JSON object");

  SafetensorsHeader header;
  header.data_begin = kLengthBytes + *header_bytes;
  for (const auto& [name, entry] : document->items()) {
    if (name == "__metadata__") {
      if (auto status = ReadMetadata(entry, source, &header.metadata); !status)
        return status.error();
      continue;
    }
    auto tensor = ReadTensor(name, entry, source);
    if (!tensor) return tensor.error();
    header.tensors.push_back(std::move(tensor).value());
  }
  std::sort(header.tensors.begin(), header.tensors.end(),
            [](const TensorInfo& a, const TensorInfo& b) {
              return std::tie(a.begin, a.end, a.name) < std::tie(b.begin, b.end, b.name);
            });
  const int64_t data_bytes = static_cast<int64_t>(file.size()) - header.data_begin;
  if (auto status = CheckLayout(header.tensors, data_bytes, source); !status) return status.error();
  return header;
}

SafetensorsFile::SafetensorsFile(MappedFile file, SafetensorsHeader header)
    : file_(std::move(file)), header_(std::move(header)) {
  for (size_t i = 0; i < header_.tensors.size(); ++i) by_name_.emplace(header_.tensors[i].name, i);
}

base::Result<SafetensorsFile> SafetensorsFile::Open(const std::string& path) {
  auto file = MappedFile::Open(path);
  if (!file) return file.error();
  auto header = ParseSafetensorsHeader(file->bytes(), path);
  if (!header) return header.error();
  return SafetensorsFile(std::move(file).value(), std::move(header).value());
}

const TensorInfo* SafetensorsFile::Find(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : &header_.tensors[found->second];
}

std::span<const std::byte> SafetensorsFile::Bytes(const TensorInfo& info) const {
  return file_.bytes().subspan(header_.data_begin + info.begin, info.size_bytes());
}

}  // namespace trainctl::files
