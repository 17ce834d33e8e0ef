#include "worker/rank/files/pickle_machine.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <utility>

namespace trainctl::files {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kMostPickledValues = 2'000'000;
constexpr uint8_t kHighestProtocol = 5;

struct Global {
  std::string_view module, name;
};

// Names that a state_dict needs; the storages and dtypes of torch are told by their form.
constexpr Global kGlobals[] = {
    {"collections", "OrderedDict"},
    {"torch._utils", "_rebuild_tensor_v2"},
    {"torch._utils", "_rebuild_parameter"},
    {"torch.storage", "UntypedStorage"},
};
constexpr std::array<std::string_view, 10> kTypes = {"float32", "float64", "float16", "bfloat16",
                                                     "int64",   "int32",   "int16",   "int8",
                                                     "uint8",   "bool"};

bool IsKnown(std::string_view module, std::string_view name) {
  const auto same = [&](const Global& global) {
    return global.module == module && global.name == name;
  };
  if (std::ranges::any_of(kGlobals, same)) return true;
  return module == "torch" &&
         (name.ends_with("Storage") || std::ranges::find(kTypes, name) != kTypes.end());
}

std::string Shown(std::string_view text) { return std::string(text.substr(0, 80)); }

}  // namespace

bool PickleMachine::Fail(const std::string& what) {
  if (fault_.empty()) fault_ = "byte " + std::to_string(opcode_at_) + ": " + what;
  return false;
}

std::optional<std::span<const std::byte>> PickleMachine::Take(uint64_t count) {
  if (count > pickle_.size() - at_) {
    Fail("the pickle ends too early");
    return std::nullopt;
  }
  const auto taken = pickle_.subspan(at_, count);
  at_ += count;
  return taken;
}

template <class Word>
std::optional<Word> PickleMachine::TakeWord() {
  const auto bytes = Take(sizeof(Word));
  if (!bytes) return std::nullopt;
  Word word;
  std::memcpy(&word, bytes->data(), sizeof word);
  return word;
}

std::optional<std::string_view> PickleMachine::TakeLine() {
  const auto* text = reinterpret_cast<const char*>(pickle_.data());
  const std::string_view rest(text + at_, pickle_.size() - at_);
  const size_t end = rest.find('\n');
  if (end == std::string_view::npos) {
    Fail("the pickle ends too early");
    return std::nullopt;
  }
  at_ += end + 1;
  return rest.substr(0, end);
}

bool PickleMachine::Push(PickleValue value) {
  if (values_.size() == kMostPickledValues)
    return Fail("more than " + std::to_string(kMostPickledValues) + " values");
  stack_.push_back(static_cast<PickleRef>(values_.size()));
  values_.push_back(std::move(value));
  return true;
}

bool PickleMachine::PushText(std::optional<uint64_t> size) {
  const auto bytes = size ? Take(*size) : std::nullopt;
  if (!bytes) return false;
  return Push({.kind = Kind::kText,
               .text = {reinterpret_cast<const char*>(bytes->data()), bytes->size()},
               .name = {},
               .items = {}});
}

bool PickleMachine::PushInteger(std::optional<int64_t> value) {
  return value &&
         Push({.kind = Kind::kInteger, .integer = *value, .text = {}, .name = {}, .items = {}});
}

// Two's complement, little endian, of up to 8 bytes.
bool PickleMachine::PushLong() {
  const auto size = TakeWord<uint8_t>();
  if (!size) return false;
  if (*size > sizeof(int64_t))
    return Fail("an integer of " + std::to_string(*size) + " bytes: expected at most 8");
  const auto bytes = Take(*size);
  if (!bytes) return false;
  const bool negative = !bytes->empty() && (bytes->back() & std::byte{0x80}) != std::byte{0};
  int64_t value = negative ? -1 : 0;
  std::memcpy(&value, bytes->data(), bytes->size());
  return PushInteger(value);
}

bool PickleMachine::PushGlobal(std::optional<std::string_view> module,
                               std::optional<std::string_view> name) {
  if (!module || !name) return false;
  if (!IsKnown(*module, *name)) {
    const std::string global = Shown(*module) + "." + Shown(*name);
    return Fail(std::string("'").append(global).append(
        "' is refused: a state_dict does not need it, and reading it could run a program"));
  }
  return Push({.kind = Kind::kGlobal, .text = *module, .name = *name, .items = {}});
}

bool PickleMachine::PushStackGlobal() {
  const auto name = Pop(), module = Pop();
  if (!name || !module) return false;
  if (values_[*name].kind != Kind::kText || values_[*module].kind != Kind::kText)
    return Fail("a global without a name");
  return PushGlobal(values_[*module].text, values_[*name].text);
}

std::optional<PickleRef> PickleMachine::Pop() {
  if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) {
    Fail("the stack is empty");
    return std::nullopt;
  }
  const PickleRef ref = stack_.back();
  stack_.pop_back();
  return ref;
}

std::optional<std::vector<PickleRef>> PickleMachine::PopSome(size_t count) {
  std::vector<PickleRef> items(count);
  for (size_t i = count; i-- > 0;) {
    const auto ref = Pop();
    if (!ref) return std::nullopt;
    items[i] = *ref;
  }
  return items;
}

std::optional<std::vector<PickleRef>> PickleMachine::PopToMark() {
  if (marks_.empty()) {
    Fail("no mark");
    return std::nullopt;
  }
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
  std::vector<PickleRef> items(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  marks_.pop_back();
  return items;
}

bool PickleMachine::MakeTuple(std::optional<std::vector<PickleRef>> items) {
  return items && Push({.kind = Kind::kTuple, .text = {}, .name = {}, .items = std::move(*items)});
}

// To the list or dict below them; an OrderedDict that was made by a call is a dict too.
bool PickleMachine::AddItems(Kind kind, std::optional<std::vector<PickleRef>> items) {
  if (!items) return false;
  const auto target = Pop();
  if (!target) return false;
  PickleValue& value = values_[*target];
  if (value.kind != kind || (kind == Kind::kDict && items->size() % 2 != 0))
    return Fail("items of something that holds none");
  value.items.insert(value.items.end(), items->begin(), items->end());
  stack_.push_back(*target);
  return true;
}

bool PickleMachine::Call() {
  const auto arguments = Pop(), callee = Pop();
  if (!arguments || !callee) return false;
  const PickleValue& global = values_[*callee];
  if (global.kind != Kind::kGlobal || values_[*arguments].kind != Kind::kTuple)
    return Fail("a call of something that is no function");
  if (global.name == "OrderedDict") {
    if (!values_[*arguments].items.empty())
      return Fail("an OrderedDict with arguments: expected an empty one that is filled");
    return Push({.kind = Kind::kDict, .text = {}, .name = {}, .items = {}});
  }
  if (!global.name.starts_with("_rebuild")) return Fail("a call of '" + Shown(global.name) + "'");
  return Push({.kind = Kind::kCall, .text = {}, .name = {}, .items = {*callee, *arguments}});
}

// Attributes of an OrderedDict (torch's _metadata) tell nothing of the tensors.
bool PickleMachine::Build() {
  const auto state = Pop();
  if (!state || stack_.empty()) return Fail("attributes of nothing");
  return values_[stack_.back()].kind == Kind::kDict ||
         Fail("attributes of something other than an OrderedDict");
}

bool PickleMachine::Memoize(std::optional<uint64_t> index) {
  if (!index || stack_.empty()) return Fail("nothing to remember");
  if (*index >= kMostPickledValues) return Fail("a memo of " + std::to_string(*index) + " values");
  if (*index >= memo_.size()) memo_.resize(*index + 1);
  memo_[*index] = stack_.back();
  return true;
}

bool PickleMachine::Recall(std::optional<uint64_t> index) {
  if (!index) return false;
  if (*index >= memo_.size() || !memo_[*index])
    return Fail("value " + std::to_string(*index) + " was never remembered");
  if (stack_.size() >= kMostPickledValues)
    return Fail("a stack of more than " + std::to_string(kMostPickledValues) + " values");
  stack_.push_back(*memo_[*index]);
  return true;
}

bool PickleMachine::Execute(uint8_t opcode) {
  switch (opcode) {
    case 0x80: {  // PROTO
      const auto version = TakeWord<uint8_t>();
      return version && (*version <= kHighestProtocol ||
                         Fail("protocol " + std::to_string(*version) + ": expected at most 5"));
    }
    case 0x95: return TakeWord<uint64_t>().has_value();  // FRAME
    case '(':
      return marks_.size() < kMostPickledValues ? (marks_.push_back(stack_.size()), true)
                                                : Fail("too many marks");
    case '.': return stopped_ = true;
    case 'N': return Push({});
    case 0x88:
    case 0x89:
      return Push(
          {.kind = Kind::kBool, .integer = opcode == 0x88, .text = {}, .name = {}, .items = {}});
    case 'K': return PushInteger(TakeWord<uint8_t>());
    case 'M': return PushInteger(TakeWord<uint16_t>());
    case 'J': return PushInteger(TakeWord<int32_t>());
    case 0x8a: return PushLong();
    case 'G':
      return Take(8).has_value() &&
             Push({.kind = Kind::kReal, .text = {}, .name = {}, .items = {}});
    case 'X': return PushText(TakeWord<uint32_t>());
    case 0x8c: return PushText(TakeWord<uint8_t>());
    case 0x8d: return PushText(TakeWord<uint64_t>());
    case 'c': {  // the order of evaluation matters
      const auto module = TakeLine();
      return module && PushGlobal(module, TakeLine());
    }
    case 0x93: return PushStackGlobal();
    case ')': return Push({.kind = Kind::kTuple, .text = {}, .name = {}, .items = {}});
    case 't': return MakeTuple(PopToMark());
    case 0x85: return MakeTuple(PopSome(1));
    case 0x86: return MakeTuple(PopSome(2));
    case 0x87: return MakeTuple(PopSome(3));
    case ']': return Push({.kind = Kind::kList, .text = {}, .name = {}, .items = {}});
    case 'a': return AddItems(Kind::kList, PopSome(1));
    case 'e': return AddItems(Kind::kList, PopToMark());
    case '}': return Push({.kind = Kind::kDict, .text = {}, .name = {}, .items = {}});
    case 's': return AddItems(Kind::kDict, PopSome(2));
    case 'u': return AddItems(Kind::kDict, PopToMark());
    case 'R': return Call();
    case 'b': return Build();
    case 'Q': {  // BINPERSID
      auto id = PopSome(1);
      return id &&
             Push({.kind = Kind::kPersistent, .text = {}, .name = {}, .items = std::move(*id)});
    }
    case 'q': return Memoize(TakeWord<uint8_t>());
    case 'r': return Memoize(TakeWord<uint32_t>());
    case 0x94: return Memoize(memo_.size());
    case 'h': return Recall(TakeWord<uint8_t>());
    case 'j': return Recall(TakeWord<uint32_t>());
    default: break;
  }
  char text[8];
  std::snprintf(text, sizeof text, "0x%02x", opcode);
  return Fail(std::string("opcode ") + text + " is refused: a state_dict does not need it");
}

base::Result<PickleRef> PickleMachine::Run() {
  while (!stopped_ && fault_.empty()) {
    opcode_at_ = at_;
    const auto opcode = TakeWord<uint8_t>();
    if (opcode && !Execute(*opcode) && fault_.empty()) Fail("malformed");
  }
  const auto top = fault_.empty() ? Pop() : std::nullopt;
  if (!top) return base::Error{base::Code::kInvalid, fault_};
  return *top;
}

}  // namespace trainctl::files
