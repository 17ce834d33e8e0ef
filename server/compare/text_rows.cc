#include <algorithm>

#include "common/base/size.h"
#include "server/compare/sections.h"

namespace trainctl::compare {
namespace {

// In the order of the runs, each once.
std::vector<std::string> Prompts(const std::vector<Run>& runs) {
  std::vector<std::string> prompts;
  for (const Run& run : runs) {
    for (const job::RankContinuation& said : run.continuations) {
      if (std::ranges::find(prompts, said.prompt) == prompts.end()) prompts.push_back(said.prompt);
    }
  }
  return prompts;
}

Value ValueOf(const job::RankContinuation* said) {
  if (said == nullptr) return {};
  return {.value = said->text, .note = "step " + base::WithThousands(said->step)};
}

}  // namespace

std::vector<Row> TextRows(const std::vector<Run>& runs) {
  std::vector<Row> rows;
  const std::vector<std::string> prompts = Prompts(runs);
  for (size_t i = 0; i < prompts.size(); ++i) {
    const std::string& prompt = prompts[i];
    const auto row = [&](const char* which) {
      return Row{.key = std::string("text_") + which + "." + std::to_string(i),
                 .label = prompt,
                 .unit = "",
                 .section = "texts",
                 .values = {}};
    };
    Row first = row("first"), last = row("last");
    bool has_last = false;
    for (const Run& run : runs) {
      const auto& said = run.continuations;
      const auto is_of = [&](const job::RankContinuation& one) { return one.prompt == prompt; };
      const auto begin = std::ranges::find_if(said, is_of);
      const auto end = std::find_if(said.rbegin(), said.rend(), is_of);
      first.values.push_back(ValueOf(begin == said.end() ? nullptr : &*begin));
      const bool is_another = end != said.rend() && &*end != &*begin;
      last.values.push_back(ValueOf(is_another ? &*end : nullptr));
      has_last = has_last || is_another;
    }
    rows.push_back(std::move(first));
    if (has_last) rows.push_back(std::move(last));
  }
  return rows;
}

}  // namespace trainctl::compare
