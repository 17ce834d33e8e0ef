// What `trainctl explain` knows: a paragraph a topic, with the arithmetic, and an override to try.
#pragma once

#include <span>
#include <string_view>

namespace trainctl::client {

struct Explanation {
  std::string_view topic;                  // lower case
  std::string_view about;                  // a few words
  std::span<const std::string_view> also;  // other words for it
  std::string_view text;                   // lines of at most 100 columns, each ended
  std::string_view attempt;
};

std::span<const Explanation> Explanations();

}  // namespace trainctl::client
