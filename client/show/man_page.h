// Man pages in the language of man(7), in UTF-8. Pure.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trainctl::client {

struct ManPage {
  std::string name;     // "trainctl-submit"
  std::string summary;  // one line
  std::string version;
  std::string usage;                     // empty: none is shown
  std::vector<std::string> description;  // paragraphs
  std::vector<std::pair<std::string, std::string>> options;
  std::string examples;               // as they are, line by line
  std::string overview;               // the same
  std::vector<std::string> see_also;  // "trainctl"
};

std::string Roff(const ManPage& page);

}  // namespace trainctl::client
