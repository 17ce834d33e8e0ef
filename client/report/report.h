// A report as sections of paragraphs, tables and pictures, and the two files that it is handed in
// as. Pure.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "client/plot/curve.h"
#include "client/show/text_table.h"

namespace trainctl::client {

struct Paragraph {
  std::string text;  // plain: it is escaped
};

// As it is typed, or as a program wrote it.
struct Verbatim {
  std::string text;
};

using ReportPart = std::variant<Paragraph, Verbatim, TextTable, Plot>;

struct ReportSection {
  std::string title;
  std::vector<ReportPart> parts;  // none: the section is left out
};

struct Report {
  std::string title;
  std::vector<ReportSection> sections;
};

// A page that loads nothing and runs nothing; pictures are within it.
std::string HtmlOf(const Report& report);

// Pictures are drawn in characters.
std::string MarkdownOf(const Report& report);

}  // namespace trainctl::client
