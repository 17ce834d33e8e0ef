#include "client/show/man_page.h"

#include <algorithm>
#include <cctype>

#include "client/show/format.h"

namespace trainctl::client {
namespace {

// A text in which nothing is a request to roff: no line begins with a dot or quote. What is typed
// can be copied with its hyphens.
std::string RoffEscaped(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool begins = escaped.empty() || escaped.back() == '\n';
    if (begins && (c == '.' || c == '\'')) escaped += "\\&";
    if (c == '\\') {
      escaped += "\\e";
    } else if (c == '-') {
      escaped += "\\-";
    } else {
      escaped += c;
    }
  }
  return escaped;
}

std::string LineOf(std::string_view text) {
  std::string line = RoffEscaped(text);
  std::ranges::replace(line, '\n', ' ');
  return line;
}

// Line by line as it is.
std::string AsItStands(std::string_view text) {
  std::string lines = RoffEscaped(text);
  if (!lines.ends_with('\n')) lines += '\n';
  return ".nf\n" + lines + ".fi\n";
}

}  // namespace

std::string Roff(const ManPage& page) {
  std::string title = page.name;
  std::ranges::transform(title, title.begin(),
                         [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  std::string text = ".TH \"" + LineOf(title) + "\" 1 \"\" \"trainctl " + LineOf(page.version) +
                     "\" \"trainctl\"\n.SH NAME\n" + LineOf(page.name) + " \\- " +
                     LineOf(page.summary) + "\n";
  if (!page.usage.empty()) text += ".SH SYNOPSIS\n.B " + LineOf(page.usage) + "\n";
  if (!page.overview.empty()) text += ".SH DESCRIPTION\n" + AsItStands(page.overview);
  if (!page.options.empty()) text += ".SH OPTIONS\n";
  for (const auto& [name, help] : page.options)
    text += ".TP\n.B " + LineOf(name) + "\n" + RoffEscaped(help) + "\n";
  if (!page.description.empty()) text += ".SH NOTES\n";
  for (const std::string& paragraph : page.description)
    text += ".PP\n" + RoffEscaped(paragraph) + "\n";
  if (!page.examples.empty()) text += ".SH EXAMPLES\n" + AsItStands(page.examples);
  text += ".SH SEE ALSO\n";
  std::vector<std::string> others;
  for (const std::string& other : page.see_also) others.push_back(LineOf(other) + "(1)");
  return text + Join(others, ",\n") + "\n";
}

}  // namespace trainctl::client
