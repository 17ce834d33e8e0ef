#include "common/json/read_plain_json.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <utility>

namespace trainctl::job {
namespace {

constexpr size_t kMostMembers = 64;     // of an object: each key is compared with those before it
constexpr size_t kLongestInteger = 18;  // digits that any int64_t can hold

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Each method reads from the front of what is left. False: it is not plain.
class PlainReader {
 public:
  PlainReader(std::string_view text, size_t max_depth) : left_(text), max_depth_(max_depth) {}

  bool ReadAll(JsonNode* root) { return ReadValue(root) && left_.empty(); }

 private:
  bool Take(char wanted) {
    if (left_.empty() || left_.front() != wanted) return false;
    left_.remove_prefix(1);
    return true;
  }

  bool TakeWord(std::string_view word) {
    if (!left_.starts_with(word)) return false;
    left_.remove_prefix(word.size());
    return true;
  }

  bool ReadValue(JsonNode* node) {
    node->line = 1;
    switch (left_.empty() ? 0 : left_.front()) {
      case '{': return ReadObject(node);
      case '[': return ReadArray(node);
      case '"': node->type = JsonNode::Type::kString; return ReadString(&node->text);
      case 'n': return TakeWord("null");
      case 't': node->type = JsonNode::Type::kBool; return node->boolean = TakeWord("true");
      case 'f': node->type = JsonNode::Type::kBool; return TakeWord("false");
      default: return ReadNumber(node);
    }
  }

  bool ReadObject(JsonNode* node) {
    node->type = JsonNode::Type::kObject;
    left_.remove_prefix(1);
    if (++depth_ > max_depth_) return false;
    if (!Take('}')) {
      do {
        std::string key;
        if (!ReadString(&key) || !Take(':') || node->keys.size() == kMostMembers ||
            node->Find(key) != nullptr)
          return false;
        node->keys.push_back(std::move(key));
        if (!ReadValue(&node->items.emplace_back())) return false;
      } while (Take(','));
      if (!Take('}')) return false;
    }
    --depth_;
    return true;
  }

  bool ReadArray(JsonNode* node) {
    node->type = JsonNode::Type::kArray;
    left_.remove_prefix(1);
    if (++depth_ > max_depth_) return false;
    if (!Take(']')) {
      do {
        if (!ReadValue(&node->items.emplace_back())) return false;
      } while (Take(','));
      if (!Take(']')) return false;
    }
    --depth_;
    return true;
  }

  bool ReadString(std::string* text) {
    if (!Take('"')) return false;
    const auto end = std::ranges::find_if(
        left_, [](char c) { return c < 0x20 || c > 0x7e || c == '"' || c == '\\'; });
    *text = std::string(left_.begin(), end);
    left_.remove_prefix(text->size());
    return Take('"');
  }

  size_t CountDigits(size_t from) const {
    size_t end = from;
    while (end < left_.size() && IsDigit(left_[end])) ++end;
    return end - from;
  }

  bool Has(size_t at, std::string_view any_of) const {
    return at < left_.size() && any_of.find(left_[at]) != std::string_view::npos;
  }

  bool ReadNumber(JsonNode* node) {
    const size_t sign = Has(0, "-") ? 1 : 0;
    const size_t digits = CountDigits(sign);
    if (digits == 0 || digits > kLongestInteger || (digits > 1 && left_[sign] == '0')) return false;
    size_t end = sign + digits;
    const bool is_integer = !Has(end, ".eE");
    if (Has(end, ".")) {
      const size_t fraction = CountDigits(end + 1);
      if (fraction == 0) return false;
      end += 1 + fraction;
    }
    if (Has(end, "eE")) {
      end += Has(end + 1, "+-") ? 2 : 1;
      const size_t exponent = CountDigits(end);
      if (exponent == 0) return false;
      end += exponent;
    }
    return Keep(left_.substr(0, end), is_integer, node);
  }

  bool Keep(std::string_view number, bool is_integer, JsonNode* node) {
    const char* const end = number.data() + number.size();
    left_.remove_prefix(number.size());
    if (is_integer) {
      node->type = JsonNode::Type::kInteger;
      return std::from_chars(number.data(), end, node->integer).ec == std::errc();
    }
    node->type = JsonNode::Type::kReal;
    node->text = number;
    return std::from_chars(number.data(), end, node->real).ec == std::errc();
  }

  std::string_view left_;
  const size_t max_depth_;
  size_t depth_ = 0;  // brackets that are open
};

}  // namespace

std::optional<JsonNode> ReadPlainJson(std::string_view text, const JsonLimits& limits) {
  constexpr size_t kMostDepth = 64;  // each is a call
  JsonNode root;
  PlainReader reader(text, std::min(limits.max_depth, kMostDepth));
  if (!reader.ReadAll(&root)) return std::nullopt;
  return root;
}

}  // namespace trainctl::job
