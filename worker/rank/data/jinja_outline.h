// The tags of a Jinja chat template in one spelling, and what it writes for plain turns.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace trainctl::data {

struct JinjaOutline {
  // All of it. Tags have no white space at their edges, and members are as in message['role'].
  // Literals are decoded, in single quotes, and joined ones are one.
  std::string text;

  // Of what a conversation reaches that has no tools and asks for no answer:
  std::vector<std::string> writes;      // expressions, in their order
  std::vector<std::string> runs;        // the same; with nothing between them they are one, by '+'
  std::vector<std::string> sets;        // "name=value"
  std::vector<std::string> conditions;  // of if and elif
  std::vector<std::string> loops;       // "message in messages"
  bool has_words = false;               // text between tags, but for white space that is dropped
  bool has_others = false;              // statements that are none of these: macros, an open end
};

// White space is controlled as transformers does: trim_blocks and lstrip_blocks.
JinjaOutline OutlineOf(std::string_view jinja);

}  // namespace trainctl::data
