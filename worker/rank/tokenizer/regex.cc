#include "worker/rank/tokenizer/regex.h"

#include "worker/rank/tokenizer/utf8.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace trainctl::data {
namespace {

struct MatchDataDeleter {
  void operator()(pcre2_match_data* data) const { pcre2_match_data_free(data); }
};
using MatchData = std::unique_ptr<pcre2_match_data, MatchDataDeleter>;

// Spelled the same, but of another meaning in Oniguruma: class intersection, and a hexadecimal
// digit.
const char* ForeignSyntax(std::string_view pattern) {
  for (const char* syntax : {"&&", "\\h", "\\H"}) {
    if (pattern.find(syntax) != std::string_view::npos) return syntax;
  }
  return nullptr;
}

// PCRE2's own \s also holds U+180E, which has not been white space since Unicode 6.3.
std::string WithUnicodeWhiteSpace(std::string_view pattern) {
  std::string rewritten;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const std::string_view pair = pattern.substr(i, 2);
    if (pair == "\\s" || pair == "\\S") {
      rewritten += pair == "\\s" ? "\\p{White_Space}" : "\\P{White_Space}";
      ++i;
    } else if (pair.size() == 2 && pair[0] == '\\') {
      rewritten += pair;
      ++i;
    } else {
      rewritten += pattern[i];
    }
  }
  return rewritten;
}

base::Result<std::shared_ptr<const pcre2_code>> CompileCode(std::string_view pattern,
                                                            uint32_t options) {
  int error = 0;
  size_t offset = 0;
  const auto text = reinterpret_cast<PCRE2_SPTR>(pattern.data());
  pcre2_code* code =
      pcre2_compile(text, pattern.size(), PCRE2_UTF | options, &error, &offset, nullptr);
  if (code == nullptr) {
    PCRE2_UCHAR message[256] = {};
    pcre2_get_error_message(error, message, sizeof message);
    return base::Error{base::Code::kInvalid, std::string("regular expression '") +
                                                 std::string(pattern) +
                                                 "': " + reinterpret_cast<const char*>(message) +
                                                 " at byte " + std::to_string(offset)};
  }
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where there is no JIT, the interpreter matches
  return std::shared_ptr<const pcre2_code>(
      code, [](const pcre2_code* owned) { pcre2_code_free(const_cast<pcre2_code*>(owned)); });
}

// The next match that is not empty, from `from` on; false: none.
bool Find(const pcre2_code* code, std::string_view text, size_t from, pcre2_match_data* data) {
  const auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  const uint32_t options = PCRE2_NO_UTF_CHECK | PCRE2_NOTEMPTY;
  int found = pcre2_match(code, subject, text.size(), from, options, data, nullptr);
  if (found == PCRE2_ERROR_JIT_STACKLIMIT)
    found = pcre2_match(code, subject, text.size(), from, options | PCRE2_NO_JIT, data, nullptr);
  return found > 0;
}

}  // namespace

base::Result<Regex> Regex::Compile(std::string_view pattern) {
  if (const char* syntax = ForeignSyntax(pattern)) {
    return base::Error{base::Code::kInvalid, "regular expression '" + std::string(pattern) +
                                                 "': " + syntax + " is not yet supported"};
  }
  auto code = CompileCode(WithUnicodeWhiteSpace(pattern),
                          PCRE2_UCP | PCRE2_MULTILINE);  // ^ and $ are of lines in Oniguruma
  if (!code) return code.error();
  return Regex(*code);
}

Regex Regex::Literal(std::string_view text) {
  std::string storage;
  return Regex(CompileCode(RepairUtf8(text, &storage), PCRE2_LITERAL).value());
}

void Regex::Split(std::string_view text, std::vector<Span>* spans) const {
  spans->clear();
  const MatchData data(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  size_t done = 0;
  while (done < text.size() && Find(code_.get(), text, done, data.get())) {
    const size_t* place = pcre2_get_ovector_pointer(data.get());
    const size_t begin = place[0], end = place[1];
    if (begin < done || end <= begin)
      break;  // \K can report such matches: nothing sensible follows
    if (begin > done) spans->push_back({done, begin, false});
    spans->push_back({begin, end, true});
    done = end;
  }
  if (done < text.size()) spans->push_back({done, text.size(), false});
}

}  // namespace trainctl::data
