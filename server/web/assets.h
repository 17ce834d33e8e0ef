// The pages, their scripts and their styles: files of assets/ and Chart.js, embedded at build
// (embed.cmake writes the table).
#pragma once

#include <span>
#include <string_view>

namespace trainctl::web {

struct Asset {
  std::string_view name;  // "site.html"
  std::string_view text;
};

std::span<const Asset> Assets();

}  // namespace trainctl::web
