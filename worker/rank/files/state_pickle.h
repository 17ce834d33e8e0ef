// The pickle of a state_dict, read by an interpreter that knows only what torch.save writes for
// one: numbers, strings, tuples, lists, dicts, and these globals, none of which runs anything:
//   collections.OrderedDict    torch._utils._rebuild_tensor_v2    torch._utils._rebuild_parameter
//   torch.<Type>Storage torch.storage.UntypedStorage    torch.<dtype>
// Anything else is refused by name and offset. Work and memory are linear in the text; nothing
// recurses. (Opcodes: CPython's pickletools.py, protocols 2 to 5.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/files/tensor_info.h"

namespace trainctl::files {

// A tensor of the state: a view of a storage, in elements.
struct PickledTensor {
  std::string name;
  DType dtype = DType::kF32;
  std::string storage;  // the key of its entry, "data/<key>"
  int64_t storage_numel = 0;
  int64_t offset = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
};

// The tensors of the top dict, or of its member "model" or "state_dict" where the top holds one, in
// order. What is no tensor is passed over. kInvalid: "<source>: data.pkl, byte <n>: …".
base::Result<std::vector<PickledTensor>> ReadStatePickle(std::span<const std::byte> pickle,
                                                         const std::string& source);

}  // namespace trainctl::files
