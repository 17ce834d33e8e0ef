#include "common/json/read_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <unordered_set>
#include <utility>

#include "common/base/counting_iterator.h"
#include "common/base/utf8.h"
#include "common/json/open_parts.h"
#include "common/json/read_plain_json.h"

namespace trainctl::job {
namespace {

constexpr std::string_view kSpace = " \t\r\n";  // JSON's

// The path of a key within an object, as problems show it.
std::string Join(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

// "line 3, column 9".
std::string PlaceText(std::string_view text, size_t offset) {
  const TextPlace place = PlaceOf(text, offset);
  return "line " + std::to_string(place.line) + ", column " + std::to_string(place.column);
}

// "still open: the string of line 4, column 13, the '{' of line 1, column 1": innermost first.
std::string StillOpen(std::string_view text, std::vector<OpenPart> open) {
  constexpr size_t kMostNamed = 4;
  if (open.empty()) return "";
  std::string words = "still open: ";
  size_t named = 0;
  for (; !open.empty() && named < kMostNamed; open.pop_back(), ++named) {
    const OpenPart& part = open.back();
    words += (named == 0 ? "the " : ", the ") +
             (part.opened == '"' ? std::string("string") : std::string("'") + part.opened + "'") +
             " of " + PlaceText(text, part.offset);
  }
  return open.empty() ? words : words + " and " + std::to_string(open.size()) + " more";
}

// Of a text that ends before what it opens does; its end is told without the space behind it.
// nullopt: it opens nothing that it leaves open.
std::optional<Problem> EndsTooEarly(std::string_view text) {
  if (text.find_first_not_of(kSpace) == std::string_view::npos)
    return Problem{"(file)", 1, "there is nothing in it", "valid JSON", ""};
  const std::vector<OpenPart> open = OpenParts(text);
  if (open.empty()) return std::nullopt;
  const size_t end = text.find_last_not_of(open.back().opened == '"' ? "\r\n" : kSpace) + 1;
  return Problem{"(file)", static_cast<int>(PlaceOf(text, end).line),
                 "ends too early, in " + PlaceText(text, end), "valid JSON", StillOpen(text, open)};
}

// Builds the tree from SAX events.
class TreeBuilder : public nlohmann::json_sax<nlohmann::json> {
 public:
  TreeBuilder(std::string_view text, const JsonLimits& limits, const size_t* consumed)
      : text_(text), limits_(limits), consumed_(consumed) {}

  bool null() override { return Put(JsonNode()); }
  bool boolean(bool value) override { return Put(JsonNode(value)); }
  bool number_integer(int64_t value) override { return Put(JsonNode(value)); }
  bool number_unsigned(uint64_t value) override {
    if (value <= INT64_MAX) return Put(JsonNode(static_cast<int64_t>(value)));
    return number_float(static_cast<double>(value), std::to_string(value));
  }
  bool number_float(double value, const std::string& spelling) override {
    JsonNode node(value);
    node.text = spelling;
    return Put(std::move(node));
  }
  bool string(std::string& value) override { return Put(JsonNode(std::move(value))); }
  bool binary(nlohmann::json::binary_t&) override { return false; }  // not in JSON text

  bool start_object(size_t) override { return Open(JsonNode::Object()); }
  bool start_array(size_t) override { return Open(JsonNode::Array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(std::string& name) override {
    Level& level = open_.back();
    level.key = name;
    level.is_duplicate = !level.seen.insert(name).second;
    if (level.is_duplicate) {
      problems_.push_back({Path(), Line(), "duplicate key", "each key once",
                           "the first is in line " + std::to_string(level.node.Find(name)->line)});
    }
    return true;
  }

  bool parse_error(size_t position, const std::string& token,
                   const nlohmann::json::exception& fault) override {
    const size_t at = std::min(position == 0 ? 0 : position - 1, text_.size());  // of the fault
    const bool at_end = text_.find_first_not_of(kSpace, at) == std::string_view::npos;
    if (auto early = at_end ? EndsTooEarly(text_) : std::nullopt) {
      problems_.push_back(*std::move(early));
      return false;
    }
    const bool overflow = fault.id == 406;
    problems_.push_back({PathOrFile(), LineAt(at), base::Excerpt(token, kShownValueBytes),
                         overflow ? "a number that a double can hold" : "valid JSON",
                         overflow ? "" : ReasonAt(at, fault.what())});
    return false;
  }

  JsonText Take(bool complete) {
    JsonText result;
    if (complete) result.root = std::move(root_);
    result.problems = std::move(problems_);
    return result;
  }

 private:
  struct Level {
    JsonNode node;
    std::string key;  // of the member that comes next, or came last
    bool is_duplicate = false;
    std::unordered_set<std::string> seen;
  };

  bool Open(JsonNode node) {
    if (open_.size() >= limits_.max_depth) {
      problems_.push_back({base::Excerpt(PathOrFile(), kShownValueBytes), Line(), "",
                           "at most " + std::to_string(limits_.max_depth) + " nested brackets",
                           ""});
      return false;
    }
    node.line = Line();
    open_.push_back({std::move(node), "", false, {}});
    return true;
  }

  bool Close() {
    JsonNode node = std::move(open_.back().node);
    open_.pop_back();
    return Store(std::move(node));
  }

  bool Put(JsonNode node) {
    node.line = Line();
    return Store(std::move(node));
  }

  bool Store(JsonNode node) {
    if (open_.empty()) {
      root_ = std::move(node);
    } else if (Level& level = open_.back(); level.node.Is(JsonNode::Type::kArray)) {
      level.node.Append(std::move(node));
    } else if (!level.is_duplicate) {
      level.node.Add(level.key, std::move(node));
    }
    return true;
  }

  // Of the member or element that is being read.
  std::string Path() const {
    std::string path;
    for (const Level& level : open_) {
      const bool in_array = level.node.Is(JsonNode::Type::kArray);
      path = in_array ? path + "[" + std::to_string(level.node.items.size()) + "]"
                      : Join(path, level.key);
    }
    return path;
  }
  std::string PathOrFile() const {
    std::string path = Path();
    return path.empty() ? "(file)" : path;
  }

  // The line of the token just read. The lexer reads one character past a number: a newline that
  // came last is not the token's.
  int Line() { return LineAt(*consumed_ == 0 ? 0 : *consumed_ - 1); }

  // Offsets only grow, so each newline is counted once.
  int LineAt(size_t offset) {
    if (offset > counted_) {
      line_ += static_cast<int>(std::count(text_.begin() + static_cast<ptrdiff_t>(counted_),
                                           text_.begin() + static_cast<ptrdiff_t>(offset), '\n'));
      counted_ = offset;
    }
    return line_;
  }

  // A quote that is missing is told where the string begins, not where the line ends.
  std::string ReasonAt(size_t at, std::string_view what) const {
    const std::vector<OpenPart> open = OpenParts(text_.substr(0, at));
    const bool ends_line = at < text_.size() && (text_[at] == '\n' || text_[at] == '\r');
    if (ends_line && !open.empty() && open.back().opened == '"')
      return "the string of " + PlaceText(text_, open.back().offset) + " has no end in its line";
    return Reason(what);
  }

  // Of "[json.exception.parse_error.101] parse error at line 3, column 5: syntax error …" what
  // follows the column.
  static std::string Reason(std::string_view what) {
    const size_t column = what.find("column ");
    const size_t colon = column == std::string_view::npos ? column : what.find(": ", column);
    return base::Excerpt(colon == std::string_view::npos ? what : what.substr(colon + 2), 300);
  }

  std::string_view text_;
  JsonLimits limits_;
  const size_t* consumed_;
  size_t counted_ = 0;  // the newlines before this offset are in line_
  int line_ = 1;
  std::vector<Level> open_;
  JsonNode root_;
  std::vector<Problem> problems_;
};

JsonText TooLong(size_t bytes, size_t max_bytes) {
  JsonText result;
  result.problems.push_back({"(file)", 0, std::to_string(bytes) + " bytes",
                             "at most " + std::to_string(max_bytes) + " bytes", ""});
  return result;
}

}  // namespace

JsonText ReadJson(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) return TooLong(text.size(), limits.max_bytes);
  if (auto plain = ReadPlainJson(text, limits)) return {std::move(plain), {}};
  size_t consumed = 0;
  TreeBuilder builder(text, limits, &consumed);
  const base::CountingIterator begin(text.data(), &consumed),
      end(text.data() + text.size(), &consumed);
  return builder.Take(nlohmann::json::sax_parse(begin, end, &builder));
}

}  // namespace trainctl::job
