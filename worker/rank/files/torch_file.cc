#include "worker/rank/files/torch_file.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "worker/rank/files/state_pickle.h"
#include "worker/rank/files/tensor_text.h"
#include "worker/rank/files/zip_directory.h"

namespace trainctl::files {
namespace {

using Bytes = std::span<const std::byte>;
using Entries = std::unordered_map<std::string_view, Bytes>;

constexpr std::string_view kPickle = "/data.pkl";
constexpr size_t kMaxPickleBytes = size_t{64} << 20;

// "<name>" of the one "<name>/data.pkl"; "" where there is not exactly one.
std::string FolderOf(const std::vector<ZipEntry>& entries) {
  std::string folder;
  for (const ZipEntry& entry : entries) {
    if (!entry.name.ends_with(kPickle)) continue;
    if (!folder.empty()) return "";
    folder = entry.name.substr(0, entry.name.size() - kPickle.size());
  }
  return folder;
}

// Row by row without gaps; strides of sizes 1 and of empty tensors do not matter.
bool IsContiguous(const PickledTensor& tensor) {
  int64_t expected = 1;
  for (size_t i = tensor.shape.size(); i-- > 0;) {
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != expected) return false;
    if (__builtin_mul_overflow(expected, tensor.shape[i], &expected)) return false;
  }
  return true;
}

// The tensor's bytes within its storage; "" or what is wrong.
std::string Locate(const PickledTensor& tensor, Bytes storage, Bytes* bytes) {
  const int64_t width = WidthBytes(tensor.dtype);
  const auto stored_bytes = static_cast<int64_t>(storage.size());
  if (stored_bytes % width != 0 || stored_bytes / width != tensor.storage_numel) {
    return "its storage has " + std::to_string(stored_bytes) + " bytes: the pickle says " +
           std::to_string(tensor.storage_numel) + " elements";
  }
  const auto size = ShapeBytes(tensor.dtype, tensor.shape);
  const bool is_inside = size && tensor.offset <= tensor.storage_numel &&
                         *size / width <= tensor.storage_numel - tensor.offset;
  if (!is_inside) return "lies outside of its storage";
  if (!IsContiguous(tensor))
    return "is not stored row by row (a view of another tensor): save it as safetensors";
  *bytes = storage.subspan(static_cast<size_t>(tensor.offset * width), static_cast<size_t>(*size));
  return "";
}

}  // namespace

base::Result<TorchFile> TorchFile::Open(const std::string& path) {
  auto mapped = MappedFile::Open(path);
  if (!mapped) return mapped.error();
  TorchFile file(std::move(mapped).value());
  const auto fault = [&](const std::string& what) {
    return base::Error{base::Code::kInvalid, path + ": " + what};
  };
  const auto directory = ReadZipDirectory(file.file_.bytes(), path);
  if (!directory) return directory.error();
  const std::string folder = FolderOf(*directory);
  if (folder.empty()) return fault("expected one entry <name>/data.pkl, as torch.save writes it");
  Entries entries;
  for (const ZipEntry& entry : *directory) entries.emplace(entry.name, entry.bytes);
  const Bytes pickle = entries.at(folder + std::string(kPickle));
  if (pickle.size() > kMaxPickleBytes)
    return fault("a pickle of " + std::to_string(pickle.size()) +
                 " bytes: expected at most 64 MiB");
  const auto order = entries.find(folder + "/byteorder");
  if (order != entries.end() &&
      std::string_view(reinterpret_cast<const char*>(order->second.data()), order->second.size()) !=
          "little") {
    return fault("its numbers are not little endian");
  }
  auto tensors = ReadStatePickle(pickle, path);
  if (!tensors) return tensors.error();
  for (PickledTensor& tensor : *tensors) {
    const auto entry = entries.find(folder + "/data/" + tensor.storage);
    if (entry == entries.end())
      return fault(TensorText(tensor.name) + ": no entry data/" + ShownName(tensor.storage));
    Bytes bytes;
    if (const std::string what = Locate(tensor, entry->second, &bytes); !what.empty())
      return fault(TensorText(tensor.name) + " " + what);
    const int64_t begin = bytes.data() - file.file_.bytes().data();
    file.tensors_.push_back({{.name = std::move(tensor.name),
                              .dtype = tensor.dtype,
                              .shape = std::move(tensor.shape),
                              .begin = begin,
                              .end = begin + static_cast<int64_t>(bytes.size())},
                             bytes});
  }
  return file;
}

}  // namespace trainctl::files
