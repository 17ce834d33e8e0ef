#include "worker/rank/files/json_text.h"

#include <cstddef>
#include <stdexcept>
#include <unordered_set>
#include <vector>

#include "common/base/counting_iterator.h"
#include "common/base/utf8.h"
#include "worker/rank/files/lfs_pointer.h"

namespace trainctl::files {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 64;
constexpr size_t kShownTextBytes = 300;

// Sees each parser event and throws std::invalid_argument at the first rule that is broken. Keeps
// every value.
class StrictRules {
 public:
  bool Check(int depth, json::parse_event_t event, const json& parsed) {
    if (depth > kMaxDepth)
      throw std::invalid_argument("nested deeper than " + std::to_string(kMaxDepth) + " levels");
    if (event == json::parse_event_t::object_start) keys_.emplace_back();
    if (event == json::parse_event_t::object_end) keys_.pop_back();
    if (event == json::parse_event_t::key &&
        !keys_.back().insert(parsed.get_ref<const std::string&>()).second) {
      throw std::invalid_argument("the key " + parsed.dump() + " stands twice in one object");
    }
    return true;
  }

 private:
  std::vector<std::unordered_set<std::string>> keys_;  // of the objects that are open
};

// Of "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error …" what
// follows "at"; one line needs no number.
std::string Reason(std::string_view what, std::string_view text) {
  const auto skip_to_after = [&what](std::string_view mark) {
    if (const size_t at = what.find(mark); at != std::string_view::npos)
      what.remove_prefix(at + mark.size());
  };
  skip_to_after("] ");
  skip_to_after("parse error at ");
  if (text.find('\n') == std::string_view::npos) skip_to_after("line 1, ");
  return base::Excerpt(what, kShownTextBytes);
}

struct TakenEnough {};

// parse() may throw what the parser and the rules throw.
template <class Parse>
base::Result<json> Caught(std::string_view text, const std::string& source, const Parse& parse) {
  try {
    return parse();
  } catch (const json::exception& error) {
    return base::Error{base::Code::kInvalid, source + ": not JSON: " + Reason(error.what(), text)};
  } catch (const std::invalid_argument& error) {
    return base::Error{base::Code::kInvalid, source + ": " + error.what()};
  } catch (const TakenEnough&) {
    return json();
  }
}

bool EndsElement(int depth, json::parse_event_t event) {
  return depth == 1 &&
         (event == json::parse_event_t::object_end || event == json::parse_event_t::array_end ||
          event == json::parse_event_t::value);
}

}  // namespace

base::Result<json> ParseJsonText(std::string_view text, const std::string& source) {
  if (IsLfsPointer(text))
    return base::Error{base::Code::kInvalid, source + ": " + std::string(kLfsPointerText)};
  StrictRules rules;
  const auto check = [&](int depth, json::parse_event_t event, json& parsed) {
    return rules.Check(depth, event, parsed);
  };
  return Caught(text, source, [&] { return json::parse(text.begin(), text.end(), check); });
}

base::Status ParseJsonList(std::string_view text, const std::string& source,
                           const TakeElement& take) {
  StrictRules rules;
  size_t consumed = 0;
  const auto check = [&](int depth, json::parse_event_t event, json& parsed) {
    rules.Check(depth, event, parsed);
    if (!EndsElement(depth, event)) return true;
    if (!take(parsed, static_cast<int64_t>(consumed))) throw TakenEnough();
    return false;
  };
  const auto parsed = Caught(text, source, [&] {
    return json::parse(base::CountingIterator(text.data(), &consumed),
                       base::CountingIterator(text.data() + text.size(), &consumed), check);
  });
  if (!parsed) return parsed.error();
  return base::Ok{};
}

}  // namespace trainctl::files
