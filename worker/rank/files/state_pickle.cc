#include "worker/rank/files/state_pickle.h"

#include <algorithm>
#include <array>
#include <optional>
#include <unordered_set>
#include <utility>

#include "worker/rank/files/pickle_machine.h"
#include "worker/rank/files/tensor_text.h"

namespace trainctl::files {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kMostDimensions = 16;

constexpr std::pair<std::string_view, DType> kStorageTypes[] = {
    {"FloatStorage", DType::kF32},  {"HalfStorage", DType::kF16}, {"BFloat16Storage", DType::kBF16},
    {"DoubleStorage", DType::kF64}, {"LongStorage", DType::kI64}, {"IntStorage", DType::kI32},
    {"ShortStorage", DType::kI16},  {"CharStorage", DType::kI8},  {"ByteStorage", DType::kU8},
    {"BoolStorage", DType::kBool},
};

std::optional<DType> StorageType(std::string_view name) {
  for (const auto& [type, dtype] : kStorageTypes) {
    if (type == name) return dtype;
  }
  return std::nullopt;
}

class StateReader {
 public:
  StateReader(const PickleMachine& machine, const std::string& source)
      : machine_(machine), source_(source) {}

  base::Result<std::vector<PickledTensor>> Read(PickleRef top) {
    const PickleValue& state = StateDict(top);
    if (state.kind != Kind::kDict) return Invalid("the top is no dict: expected a state_dict");
    std::vector<PickledTensor> tensors;
    std::unordered_set<std::string_view> names;
    for (size_t i = 0; i + 1 < state.items.size(); i += 2) {
      const PickleValue &key = At(state.items[i]), &value = At(state.items[i + 1]);
      if (key.kind != Kind::kText || value.kind != Kind::kCall) continue;
      auto tensor = ReadTensor(key.text, value);
      if (!tensor) return tensor.error();
      if (!names.insert(key.text).second)
        return Invalid("tensor '" + std::string(key.text) + "' stands twice");
      tensors.push_back(std::move(*tensor));
    }
    return tensors;
  }

 private:
  const PickleValue& At(PickleRef ref) const { return machine_[ref]; }

  base::Error Invalid(const std::string& what) const {
    return {base::Code::kInvalid, source_ + ": data.pkl: " + what};
  }

  // The top, or the dict in it that a trainer wrapped.
  const PickleValue& StateDict(PickleRef top) const {
    const PickleValue& dict = At(top);
    for (size_t i = 0; dict.kind == Kind::kDict && i + 1 < dict.items.size(); i += 2) {
      const PickleValue &key = At(dict.items[i]), &value = At(dict.items[i + 1]);
      if ((key.text == "model" || key.text == "state_dict") && value.kind == Kind::kDict)
        return value;
    }
    return dict;
  }

  // A tuple's numbers; nullopt where it holds anything else, or too many.
  std::optional<std::vector<int64_t>> Numbers(PickleRef ref) const {
    const PickleValue& tuple = At(ref);
    if (tuple.kind != Kind::kTuple || tuple.items.size() > kMostDimensions) return std::nullopt;
    std::vector<int64_t> numbers;
    for (const PickleRef item : tuple.items) {
      if (At(item).kind != Kind::kInteger || At(item).integer < 0) return std::nullopt;
      numbers.push_back(At(item).integer);
    }
    return numbers;
  }

  base::Result<PickledTensor> ReadTensor(std::string_view name, const PickleValue& call) const {
    const auto fault = [&](const std::string& what) {
      return Invalid(TensorText(name) + ": " + what);
    };
    const std::vector<PickleRef>& arguments = At(call.items[1]).items;
    if (At(call.items[0]).name == "_rebuild_parameter") {
      // A parameter of a parameter is nothing that torch writes.
      if (arguments.empty() || At(arguments[0]).kind != Kind::kCall ||
          At(At(arguments[0]).items[0]).name != "_rebuild_tensor_v2") {
        return fault("a parameter without its tensor");
      }
      return ReadTensor(name, At(arguments[0]));
    }
    // (storage, offset, shape, strides, requires_grad, hooks)
    if (arguments.size() < 4 || At(arguments[0]).kind != Kind::kPersistent ||
        At(arguments[1]).kind != Kind::kInteger) {
      return fault("unexpected arguments of _rebuild_tensor_v2");
    }
    const auto shape = Numbers(arguments[2]), strides = Numbers(arguments[3]);
    if (!shape || !strides || shape->size() != strides->size() || At(arguments[1]).integer < 0)
      return fault("an impossible shape");
    PickledTensor tensor{.name = std::string(name),
                         .storage = {},
                         .offset = At(arguments[1]).integer,
                         .shape = *shape,
                         .strides = *strides};
    if (const std::string what = ReadStorage(At(At(arguments[0]).items[0]), &tensor); !what.empty())
      return fault(what);
    return tensor;
  }

  // ("storage", type, key, device, numel); "" or what is wrong.
  std::string ReadStorage(const PickleValue& id, PickledTensor* tensor) const {
    if (id.kind != Kind::kTuple || id.items.size() != 5 || At(id.items[0]).text != "storage")
      return "unexpected persistent id";
    const PickleValue &type = At(id.items[1]), &key = At(id.items[2]), &numel = At(id.items[4]);
    const auto dtype = type.kind == Kind::kGlobal ? StorageType(type.name) : std::nullopt;
    if (!dtype)
      return "storage of type '" + std::string(type.name) +
             "': expected one of the plain number types";
    if (key.kind != Kind::kText || numel.kind != Kind::kInteger || numel.integer < 0)
      return "unexpected persistent id";
    tensor->dtype = *dtype;
    tensor->storage = key.text;
    tensor->storage_numel = numel.integer;
    return "";
  }

  const PickleMachine& machine_;
  const std::string& source_;
};

}  // namespace

base::Result<std::vector<PickledTensor>> ReadStatePickle(std::span<const std::byte> pickle,
                                                         const std::string& source) {
  PickleMachine machine(pickle);
  const auto top = machine.Run();
  if (!top) return base::Error{base::Code::kInvalid, source + ": data.pkl, " + top.error().message};
  return StateReader(machine, source).Read(*top);
}

}  // namespace trainctl::files
