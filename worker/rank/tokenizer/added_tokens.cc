#include "worker/rank/tokenizer/added_tokens.h"

#include <algorithm>

#include "worker/rank/tokenizer/regex.h"
#include "worker/rank/tokenizer/string_map.h"
#include "worker/rank/tokenizer/utf8.h"

namespace trainctl::data {
namespace {

bool Matches(const Regex& character, std::string_view text) {
  std::vector<Span> spans;
  character.Split(text, &spans);
  return !spans.empty() && spans.front().is_match;
}

// \w of Rust's regex crate (Unicode TR 18, annex C).
bool IsWordChar(std::string_view character) {
  static const Regex word =
      Regex::Compile("[\\p{Alphabetic}\\p{M}\\p{Nd}\\p{Pc}\\p{Join_Control}]").value();
  return Matches(word, character);
}

bool IsWhiteSpace(std::string_view character) {
  static const Regex space = Regex::Compile("\\s").value();
  return Matches(space, character);
}

std::string_view FirstOf(std::string_view text) {
  return text.empty() ? text : text.substr(0, FirstChar(text).length);
}

std::string_view LastOf(std::string_view text) {
  size_t begin = text.size();
  while (begin > 0 && (text[begin - 1] & 0xC0) == 0x80) --begin;
  return text.substr(begin > 0 ? begin - 1 : 0);
}

// Begin of the white space that ends the text.
size_t TrailingSpaceBegin(std::string_view text) {
  while (!text.empty() && IsWhiteSpace(LastOf(text))) text.remove_suffix(LastOf(text).size());
  return text.size();
}

// Bytes of the white space that begins the text.
size_t LeadingSpaceBytes(std::string_view text) {
  size_t bytes = 0;
  while (bytes < text.size() && IsWhiteSpace(FirstOf(text.substr(bytes))))
    bytes += FirstOf(text.substr(bytes)).size();
  return bytes;
}

bool IsSingleWord(std::string_view before, std::string_view after) {
  return (before.empty() || !IsWordChar(LastOf(before))) &&
         (after.empty() || !IsWordChar(FirstOf(after)));
}

}  // namespace

std::vector<AddedToken> JoinAddedTokens(std::vector<AddedToken> own, const TokensBeside& beside,
                                        const std::function<int32_t(std::string_view)>& id_of,
                                        int64_t vocabulary) {
  StringMap<size_t> places;
  for (size_t i = 0; i < own.size(); ++i) places.emplace(own[i].content, i);
  const auto place_of = [&](const AddedToken& token) {
    const auto [place, is_new] = places.emplace(token.content, own.size());
    if (is_new) own.push_back(token);
    return place->second;
  };
  for (const AddedToken& token : beside.listed) {
    AddedToken& joined = own[place_of(token)];
    const int32_t id = joined.id >= 0 ? joined.id : token.id;
    joined = token;
    joined.id = id;
  }
  for (const AddedToken& token : beside.named) place_of(token);
  auto next = static_cast<int32_t>(vocabulary);
  for (AddedToken& token : own) {
    if (const int32_t id = id_of(token.content); id >= 0) token.id = id;
    next = std::max(next, token.id + 1);
  }
  for (AddedToken& token : own) {
    if (token.id < 0) token.id = next++;
  }
  return own;
}

void AddedTokenMatcher::Add(const AddedToken& token, std::string_view content) {
  if (content.empty()) return;
  trie_.Add(content, static_cast<int32_t>(tokens_.size()));
  tokens_.push_back(token);
}

std::vector<Segment> AddedTokenMatcher::Split(std::string_view text) const {
  std::vector<Segment> segments;
  size_t done = 0;  // everything before is in a segment
  for (size_t at = 0; at < text.size() && !trie_.empty();) {
    const PrefixTrie::Match match = trie_.Longest(text.substr(at));
    if (match.length == 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[match.value];
    size_t begin = at, end = at + match.length;
    at = end;
    if (token.single_word && !IsSingleWord(text.substr(0, begin), text.substr(end))) continue;
    if (token.lstrip) begin = TrailingSpaceBegin(text.substr(0, begin));
    if (token.rstrip) end += LeadingSpaceBytes(text.substr(end));
    begin = std::max(begin, done);
    end = std::max(begin, end);
    if (done < begin) segments.push_back({text.substr(done, begin - done)});
    segments.push_back({text.substr(begin, end - begin), token.id});
    done = end;
  }
  if (done < text.size()) segments.push_back({text.substr(done)});
  return segments;
}

}  // namespace trainctl::data
