#include <algorithm>

#include "client/plot/terminal_plot.h"
#include "client/report/report.h"
#include "client/show/escaping.h"
#include "client/show/markup.h"

namespace trainctl::client {
namespace {

constexpr int kPlotWidth = 96;

// Within a fence that is longer than any in the text.
std::string Fenced(const std::string& text) {
  size_t longest = 2, run = 0;
  for (const char c : text) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return fence + "\n" + text + (text.ends_with("\n") ? "" : "\n") + fence + "\n";
}

struct MarkdownPart {
  std::string operator()(const Paragraph& part) const { return MarkdownEscaped(part.text) + "\n"; }
  std::string operator()(const Verbatim& part) const { return Fenced(Escaped(part.text)); }
  std::string operator()(const TextTable& part) const { return part.Markdown(); }
  std::string operator()(const Plot& part) const {
    return Fenced(TerminalPlot(part, {.width = kPlotWidth}));
  }
};

}  // namespace

std::string MarkdownOf(const Report& report) {
  std::string text = "# " + MarkdownEscaped(report.title) + "\n";
  for (const ReportSection& section : report.sections) {
    if (section.parts.empty()) continue;
    text += "\n## " + MarkdownEscaped(section.title) + "\n";
    for (const ReportPart& part : section.parts) text += "\n" + std::visit(MarkdownPart(), part);
  }
  return text;
}

}  // namespace trainctl::client
