#include "worker/rank/data/jinja_outline.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <utility>

namespace trainctl::data {
namespace {

constexpr std::string_view kJinjaSpace = " \t\r\n\v\f";

bool IsJinjaSpace(char c) { return kJinjaSpace.find(c) != std::string_view::npos; }
bool IsWordByte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

bool EndsWord(char c) { return IsWordByte(c) || c == ')' || c == ']' || c == '\''; }
bool BeginsWord(char c) { return IsWordByte(c) || c == '(' || c == '[' || c == '\'' || c == '"'; }

void ReplaceEach(std::string* text, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = text->find(from, at)) != std::string::npos; at += to.size())
    text->replace(at, from.size(), to);
}

// One literal of a tag from its quote on: decoded, in single quotes. Moves behind it.
std::string TakeLiteral(std::string_view tag, size_t* at) {
  const char quote = tag[(*at)++];
  std::string literal = "'";
  for (; *at < tag.size() && tag[*at] != quote; ++*at) {
    char c = tag[*at];
    if (c == '\\' && *at + 1 < tag.size()) {
      c = tag[++*at];
      if (c == 'n') c = '\n';
      if (c == 't') c = '\t';
    }
    literal += c;
  }
  ++*at;
  return literal + "'";
}

std::string OneSpelling(std::string_view tag) {
  std::string text, code;
  bool joins = false;  // text ends in a literal and code in nothing but '+'
  const auto flush = [&] {
    for (const char* of : {"message", "messages[0]"}) {
      for (const std::string member : {"role", "content"})
        ReplaceEach(&code, std::string(of) + "." + member, std::string(of) + "['" + member + "']");
    }
    text += code;
    code.clear();
  };
  for (size_t at = 0; at < tag.size();) {
    if (tag[at] == '\'' || tag[at] == '"') {
      const std::string literal = TakeLiteral(tag, &at);
      if (joins && code == "+") {
        code.clear();
        text.pop_back();
        text += literal.substr(1);
      } else {
        flush();
        text += literal;
      }
      joins = true;
      continue;
    }
    if (IsJinjaSpace(tag[at])) {
      size_t next = at;
      while (next < tag.size() && IsJinjaSpace(tag[next])) ++next;
      const char before = !code.empty() ? code.back() : text.empty() ? ' ' : text.back();
      if (next < tag.size() && EndsWord(before) && BeginsWord(tag[next])) code += ' ';
      at = next;
      continue;
    }
    code += tag[at++];
  }
  flush();
  return text;
}

// What a conversation without tools, of which no answer is asked for, never meets.
bool IsNeverTrue(std::string_view condition) {
  constexpr std::array<std::string_view, 7> kNever = {"tools",
                                                      "add_generation_prompt",
                                                      "not add_generation_prompt is defined",
                                                      "add_generation_prompt is not defined",
                                                      "message['role']=='tool'",
                                                      "message.tool_calls",
                                                      "message['tool_calls']"};
  if (condition.find(" or ") != std::string_view::npos) return false;
  for (size_t begin = 0; begin <= condition.size();) {
    const size_t end = std::min(condition.find(" and ", begin), condition.size());
    if (std::ranges::find(kNever, condition.substr(begin, end - begin)) != kNever.end())
      return true;
    begin = end + 5;
  }
  return false;
}

// A condition of all turns without tools but a first system's: what follows it in its chain is for
// tools.
bool TakesAllTurns(std::string_view condition) {
  return condition ==
         "(message['role']=='user') or (message['role']=='system' and not loop.first) or "
         "(message['role']=='assistant' and not message.tool_calls)";
}

// The opposite.
bool IsAlwaysTrue(std::string_view condition) {
  return condition == "not message.tool_calls" || condition == "not message['tool_calls']";
}

class Outliner {
 public:
  void Words(std::string_view text) {
    outline_.text += text;
    if (!IsReached() || text.empty()) return;
    outline_.has_words = true;
    in_run_ = false;
  }

  void Write(const std::string& expression) {
    outline_.text += "{{" + expression + "}}";
    if (!IsReached() || expression.starts_with("raise_exception(")) return;
    outline_.writes.push_back(expression);
    AddToRun(expression);
  }

  void Statement(const std::string& body) {
    outline_.text += "{%" + body + "%}";
    const std::string_view all = body;
    const size_t space = std::min(all.find_first_of(" ("), all.size());
    const std::string_view word = all.substr(0, space);
    std::string_view rest = all.substr(space);
    if (rest.starts_with(' ')) rest.remove_prefix(1);
    if (word == "if" || word == "for") {
      Open(word == "if", rest);
    } else if (word == "elif" || word == "else") {
      Turn(word == "elif" ? rest : "");
    } else if (word == "endif" || word == "endfor") {
      Close();
    } else if (word == "set" && rest.find('=') != std::string_view::npos) {
      if (!IsReached()) return;
      outline_.sets.emplace_back(rest);
      in_run_ = false;
    } else if (word != "generation" && word != "endgeneration") {
      outline_.has_others = true;
    }
  }

  JinjaOutline Take() {
    if (!frames_.empty()) outline_.has_others = true;
    return std::move(outline_);
  }

 private:
  struct Frame {
    bool was_reached = true;  // what stands around it
    bool is_reached = true;
    bool is_closed = false;  // no later branch of the chain is reached
    bool is_choice = false;  // what stands within is not written always, and once
  };

  bool IsReached() const { return frames_.empty() || frames_.back().is_reached; }

  void Open(bool is_if, std::string_view what) {
    const bool reached = IsReached();
    frames_.push_back({.was_reached = reached, .is_reached = reached});
    if (!reached) return;
    if (is_if) {
      Judge(what);
      return;
    }
    outline_.loops.emplace_back(what);
    Choose();
  }

  void Turn(std::string_view condition) {
    if (frames_.empty()) {
      outline_.has_others = true;
      return;
    }
    Frame& frame = frames_.back();
    frame.is_reached = frame.was_reached && !frame.is_closed;
    if (frame.is_reached && !condition.empty()) Judge(condition);
    if (frame.is_reached && frame.is_choice) in_run_ = false;
  }

  void Close() {
    if (frames_.empty()) {
      outline_.has_others = true;
      return;
    }
    if (frames_.back().is_choice) in_run_ = false;
    frames_.pop_back();
  }

  void Judge(std::string_view condition) {
    Frame& frame = frames_.back();
    frame.is_reached = !IsNeverTrue(condition);
    const bool is_always = !frame.is_choice && IsAlwaysTrue(condition);
    frame.is_closed = is_always || TakesAllTurns(condition);
    if (!frame.is_reached || is_always) return;
    outline_.conditions.emplace_back(condition);
    Choose();
  }

  void Choose() {
    frames_.back().is_choice = true;
    in_run_ = false;
  }

  void AddToRun(const std::string& expression) {
    std::vector<std::string>& runs = outline_.runs;
    if (!in_run_) {
      runs.push_back(expression);
    } else if (runs.back().ends_with('\'') && expression.starts_with('\'')) {
      runs.back().pop_back();
      runs.back() += expression.substr(1);
    } else {
      runs.back() += "+" + expression;
    }
    in_run_ = true;
  }

  JinjaOutline outline_;
  std::vector<Frame> frames_;
  bool in_run_ = false;  // nothing stands between the last write and what comes
};

// The end of a tag's body; literals may hold what looks like one.
size_t EndOfTag(std::string_view jinja, size_t at, std::string_view end, bool is_comment) {
  while (at < jinja.size() && !jinja.substr(at).starts_with(end)) {
    if (!is_comment && (jinja[at] == '\'' || jinja[at] == '"'))
      TakeLiteral(jinja, &at);
    else
      ++at;
  }
  return std::min(at, jinja.size());
}

size_t NextTag(std::string_view jinja, size_t at) {
  for (; at + 1 < jinja.size(); ++at) {
    const char next = jinja[at + 1];
    if (jinja[at] == '{' && (next == '{' || next == '%' || next == '#')) return at;
  }
  return jinja.size();
}

std::string_view WithoutSpaceBehind(std::string_view text) {
  const size_t last = text.find_last_not_of(kJinjaSpace);
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

// lstrip_blocks: a block that begins its line drops what stands before it there.
std::string_view WithoutIndent(std::string_view text, bool begins_line) {
  const size_t line = text.rfind('\n');
  if (line == std::string_view::npos && !begins_line) return text;
  const size_t begin = line == std::string_view::npos ? 0 : line + 1;
  const bool is_blank = text.substr(begin).find_first_not_of(kJinjaSpace) == std::string_view::npos;
  return is_blank ? text.substr(0, begin) : text;
}

std::string_view Inside(std::string_view body) {
  if (body.starts_with('-') || body.starts_with('+')) body.remove_prefix(1);
  if (body.ends_with('-') || body.ends_with('+')) body.remove_suffix(1);
  const size_t first = body.find_first_not_of(kJinjaSpace);
  return first == std::string_view::npos ? "" : WithoutSpaceBehind(body.substr(first));
}

}  // namespace

JinjaOutline OutlineOf(std::string_view given) {
  std::string unix_lines(given);
  ReplaceEach(&unix_lines, "\r\n", "\n");
  std::string_view jinja = unix_lines;
  if (jinja.ends_with('\n')) jinja.remove_suffix(1);
  Outliner outliner;
  bool begins_line = true;
  for (size_t at = 0; at < jinja.size();) {
    const size_t tag = NextTag(jinja, at);
    std::string_view words = jinja.substr(at, tag - at);
    if (tag == jinja.size()) {
      outliner.Words(words);
      break;
    }
    const char mark = jinja[tag + 1];
    const std::string end = mark == '{' ? "}}" : std::string{mark, '}'};
    const size_t close = EndOfTag(jinja, tag + 2, end, mark == '#');
    const std::string_view body = jinja.substr(tag + 2, close - tag - 2);
    if (body.starts_with('-'))
      words = WithoutSpaceBehind(words);
    else if (mark != '{' && !body.starts_with('+'))
      words = WithoutIndent(words, begins_line);
    outliner.Words(words);
    if (mark == '{') outliner.Write(OneSpelling(Inside(body)));
    if (mark == '%') outliner.Statement(OneSpelling(Inside(body)));
    const size_t behind = std::min(close + 2, jinja.size());
    at = behind;
    if (body.ends_with('-'))
      at = std::min(jinja.find_first_not_of(kJinjaSpace, behind), jinja.size());
    else if (mark != '{' && at < jinja.size() && jinja[at] == '\n' && !body.ends_with('+'))
      ++at;
    begins_line = at > behind && jinja[at - 1] == '\n';
  }
  return outliner.Take();
}

}  // namespace trainctl::data
