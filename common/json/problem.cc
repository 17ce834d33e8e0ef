#include "common/json/problem.h"

namespace trainctl::job {

std::string Format(const std::vector<Problem>& problems, const std::string& source) {
  std::string text;
  for (const Problem& problem : problems) {
    if (!text.empty()) text += '\n';
    text += source;
    if (problem.line > 0) text += ':' + std::to_string(problem.line);
    text += ": " + problem.path;
    if (!problem.value.empty()) text += ": " + problem.value;
    text += ": expected " + problem.expected;
    if (!problem.hint.empty()) text += "; " + problem.hint;
  }
  return text;
}

}  // namespace trainctl::job
