#include "client/show/continuations.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <vector>

#include "client/show/compare_cell.h"
#include "client/show/escaping.h"
#include "client/show/format.h"
#include "common/base/one_line.h"

namespace trainctl::client {
namespace {

constexpr std::string_view kSection = "texts";
constexpr int kIndent = 4, kNarrowest = 20;

bool IsOfTexts(const v1::CompareRow& row) { return row.section() == kSection; }

// "step 40: …", indented and wrapped.
std::string Entry(const std::string& label, const std::string& text, const TableLayout& layout) {
  const std::string line = Escaped(label + ": " + base::OnOneLine(text));
  const std::string margin(kIndent, ' ');
  if (layout.width <= 0) return margin + line + "\n";
  const int width = std::max(kNarrowest, layout.width - kIndent);
  return margin + Join(WrapWords(line, width), "\n" + margin) + "\n";
}

std::string Prompt(const std::string& prompt, const TableLayout& layout) {
  return "  " + Styled(Escaped(base::OnOneLine(prompt)), Style::kStrong, layout.colour) + "\n";
}

std::string StepList(const auto& steps) {
  std::vector<std::string> texts;
  for (const int64_t step : steps) texts.push_back(WithThousands(step));
  return Join(texts, ", ");
}

// What --texts of describe would show beside what is shown.
std::string OthersKept(const v1::JobDetail& detail, const TableLayout& layout) {
  std::set<int64_t> others(detail.text_steps().begin(), detail.text_steps().end());
  for (const v1::Continuation& said : detail.continuations()) others.erase(said.step());
  if (others.empty()) return "";
  const std::string line = "  Kept too, for --texts all or --texts STEP: " + StepList(others);
  return WrapLines(line, layout.width, kIndent);
}

}  // namespace

std::string ContinuationsText(const v1::JobDetail& detail, const TableLayout& layout) {
  std::map<int64_t, std::string> by_place;
  for (const v1::Continuation& said : detail.continuations()) {
    std::string& text = by_place[said.place()];
    if (text.empty()) text = Prompt(said.prompt(), layout);
    text += Entry("step " + WithThousands(said.step()), said.text(), layout);
  }
  std::string text = by_place.empty() ? "" : "\nTexts\n";
  for (const auto& [place, entries] : by_place) text += entries;
  return text + (by_place.empty() ? "" : OthersKept(detail, layout));
}

std::string TextStepsText(const v1::JobDetail& detail) { return StepList(detail.text_steps()); }

v1::CompareResponse WithoutTexts(const v1::CompareResponse& response) {
  v1::CompareResponse rest = response;
  auto* rows = rest.mutable_rows();
  rows->erase(std::remove_if(rows->begin(), rows->end(), IsOfTexts), rows->end());
  return rest;
}

std::vector<ComparedPrompt> PromptsOf(const v1::CompareResponse& response,
                                      std::vector<int> places) {
  if (places.empty()) {
    places.resize(static_cast<size_t>(response.jobs_size()));
    std::iota(places.begin(), places.end(), 0);
  }
  std::vector<ComparedPrompt> prompts;
  const auto& rows = response.rows();
  for (auto row = std::find_if(rows.begin(), rows.end(), IsOfTexts); row != rows.end();) {
    ComparedPrompt& prompt = prompts.emplace_back(ComparedPrompt{.prompt = row->label()});
    const auto next = std::find_if(row, rows.end(), [&](const v1::CompareRow& other) {
      return !IsOfTexts(other) || other.label() != row->label();
    });
    for (const int i : places) {
      std::string told;  // the first evaluation may be the last one too
      for (auto own = row; own != next; ++own) {
        const v1::CompareValue& value = own->values(i);
        if (!value.has_text() || value.note() == told) continue;
        told = value.note();
        prompt.texts.push_back({HeadingOf(response.jobs(i), 0) + ", " + told, value.text()});
      }
    }
    row = next;
  }
  return prompts;
}

std::string ComparedTexts(const v1::CompareResponse& response, const std::vector<int>& places,
                          const TableLayout& layout) {
  std::string text;
  for (const ComparedPrompt& prompt : PromptsOf(response, places)) {
    text += Prompt(prompt.prompt, layout);
    for (const ComparedText& said : prompt.texts) text += Entry(said.of, said.text, layout);
  }
  return text.empty() ? "" : "texts\n" + text + "\n";
}

}  // namespace trainctl::client
