// The stack machine of pickle, for data only (state_pickle.h). Values live in one list and refer to
// each other by index, so that cycles and depth cost nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/result.h"

namespace trainctl::files {

using PickleRef = uint32_t;

struct PickleValue {
  // kCall: items are the global and the argument tuple. kPersistent: items is the id. kDict: keys
  // and values in turn.
  enum class Kind {
    kNone,
    kBool,
    kInteger,
    kReal,
    kText,
    kGlobal,
    kTuple,
    kList,
    kDict,
    kCall,
    kPersistent
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;    // of a bool too
  std::string_view text;  // of a text; of a global its module
  std::string_view name;  // of a global
  std::vector<PickleRef> items;
};

class PickleMachine {
 public:
  explicit PickleMachine(std::span<const std::byte> pickle) : pickle_(pickle) {}

  // Runs to STOP. kInvalid: "byte <n>: …". Called once.
  base::Result<PickleRef> Run();

  const PickleValue& operator[](PickleRef ref) const { return values_[ref]; }

 private:
  // False: fault_ says why.
  bool Execute(uint8_t opcode);
  bool Fail(const std::string& what);
  std::optional<std::span<const std::byte>> Take(uint64_t count);
  std::optional<std::string_view> TakeLine();
  template <class Word>
  std::optional<Word> TakeWord();

  bool Push(PickleValue value);
  bool PushText(std::optional<uint64_t> size);
  bool PushInteger(std::optional<int64_t> value);
  bool PushLong();
  bool PushGlobal(std::optional<std::string_view> module, std::optional<std::string_view> name);
  bool PushStackGlobal();
  std::optional<PickleRef> Pop();
  std::optional<std::vector<PickleRef>> PopToMark();
  std::optional<std::vector<PickleRef>> PopSome(size_t count);
  bool MakeTuple(std::optional<std::vector<PickleRef>> items);
  bool AddItems(PickleValue::Kind kind, std::optional<std::vector<PickleRef>> items);
  bool Call();
  bool Build();
  bool Memoize(std::optional<uint64_t> index);
  bool Recall(std::optional<uint64_t> index);

  std::span<const std::byte> pickle_;
  size_t at_ = 0;
  size_t opcode_at_ = 0;
  std::string fault_;
  std::vector<PickleValue> values_;
  std::vector<PickleRef> stack_;
  std::vector<size_t> marks_;
  std::vector<std::optional<PickleRef>> memo_;
  bool stopped_ = false;
};

}  // namespace trainctl::files
