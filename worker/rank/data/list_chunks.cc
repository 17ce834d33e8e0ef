#include "worker/rank/data/list_chunks.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "worker/rank/files/json_text.h"

namespace trainctl::data {
namespace {

constexpr std::string_view kListSpace = " \t\r\n";

// Finds where elements end, and leaves all other rules to the parser.
class ElementScanner {
 public:
  // at: behind the list's '['.
  ElementScanner(std::string_view text, size_t at) : text_(text), at_(at) {}

  // To the ',' behind the next element, or to the list's ']'. False: the text ends before.
  bool Advance() {
    for (int64_t depth = 0; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      if (c == '"') {
        if (!SkipString()) return false;
      } else if (c == '[' || c == '{') {
        ++depth;
      } else if (c == ']' || c == '}') {
        if (depth == 0) return c == ']';
        --depth;
      } else if (c == ',' && depth == 0) {
        return true;
      }
    }
    return false;
  }

  size_t at() const { return at_; }
  bool is_at_end() const { return text_[at_] == ']'; }
  void SkipComma() { ++at_; }

 private:
  // To its closing quote.
  bool SkipString() {
    while ((at_ = text_.find_first_of("\"\\", at_ + 1)) != std::string_view::npos) {
      if (text_[at_] == '"') return true;
      ++at_;  // what is escaped
    }
    return false;
  }

  const std::string_view text_;
  size_t at_;
};

// Some of a list's elements.
struct Elements {
  std::string_view list;  // all of it
  std::string_view text;
  int64_t first = 0, end = 0;  // numbers
};

// Reads the list from its begin, which tells a fault with its place. Takes what is from `first` on.
base::Status ReadFrom(std::string_view list, int64_t first, const std::string& source,
                      const TakeRow& take) {
  int64_t row = 0;
  const auto take_late = [&](const files::JsonObject& object) -> base::Status {
    return row++ < first ? base::Status(base::Ok{}) : take(object);
  };
  const auto rows = ReadJsonRows(list, source, std::nullopt, take_late);
  if (!rows) return rows.error();
  return base::Ok{};
}

base::Status ReadElements(const Elements& elements, const std::string& source,
                          const TakeRow& take) {
  const std::string list = "[" + std::string(elements.text) + "]";
  base::Status taken = base::Ok{};
  int64_t row = elements.first;
  const auto take_element = [&](const nlohmann::json& element, int64_t) {
    taken = TakeJsonRow(element, source + ": [" + std::to_string(row++) + "]", take);
    return taken.ok();
  };
  const base::Status parsed = files::ParseJsonList(list, source, take_element);
  if (!taken || (parsed && row == elements.end)) return taken;
  const base::Status whole = ReadFrom(elements.list, row, source, take);
  return whole ? parsed : whole;
}

}  // namespace

void CutJsonList(std::string_view text, const std::string& source, const PutChunk& put,
                 size_t chunk_bytes) {
  // From that element on something is wrong.
  const auto put_fault = [&](int64_t first) {
    put({[text, first, &source](const TakeRow& take) {
           return ReadFrom(text, first, source, take);
         },
         static_cast<int64_t>(text.size())});
  };
  ElementScanner scanner(text, text.find('[') + 1);
  int64_t row = 0;
  for (bool ends = false; !ends;) {
    const size_t begin = scanner.at();
    const int64_t first = row;
    bool is_whole = scanner.Advance();
    for (++row; is_whole && !scanner.is_at_end() && scanner.at() - begin < chunk_bytes; ++row) {
      scanner.SkipComma();
      is_whole = scanner.Advance();
    }
    if (!is_whole) return put_fault(first);
    const std::string_view part = text.substr(begin, scanner.at() - begin);
    ends = scanner.is_at_end();
    const bool is_empty = first == 0 && ends && row == 1 &&
                          part.find_first_not_of(kListSpace) == std::string_view::npos;
    const auto read = [elements = Elements{text, part, first, row}, &source](const TakeRow& take) {
      return ReadElements(elements, source, take);
    };
    if (!is_empty && !put({read, static_cast<int64_t>(scanner.at())})) return;
    if (!ends) scanner.SkipComma();
  }
  if (text.find_first_not_of(kListSpace, scanner.at() + 1) != std::string_view::npos)
    put_fault(row);
}

}  // namespace trainctl::data
