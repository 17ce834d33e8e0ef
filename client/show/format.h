// Numbers and words as people read them. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/plural.h"
#include "common/base/size.h"

namespace trainctl::client {

using base::Plural;
using base::WithThousands;

// Four significant digits, without an exponent where people would not write one: "2.345", "1,235",
// "0.0002", "2e-08", "nan".
std::string FormatNumber(double value);

// By a metric's unit (job::MetricInfo): bytes as base::FormatBytes, seconds as "4.12 ms" or "3 min
// 32 s", rates with thousands separators.
std::string FormatWithUnit(double value, std::string_view unit);

// With as many digits as tell it from a neighbour that is a step away: "2.00001", "1.004 GiB".
// step > 0.
std::string FormatInSteps(double value, double step, std::string_view unit);

// "tiny (j3)": a job or group, as all output names it.
std::string NameWithId(std::string_view name, std::string_view id);

// "+12.3 %", "−45.0 %"; "±0 %" where it would print as zero.
std::string FormatDelta(double ratio);

// Elapsed or remaining, as on a clock: "0:07", "12:03", "3:02:11".
std::string FormatClock(double seconds);

// Columns on a terminal (character_width.h).
int DisplayWidth(std::string_view text);

// The first `width` columns, or one less; "…" stands for what was cut.
std::string Truncate(std::string_view text, int width);

// Broken at spaces into lines of at most `width` columns; a longer word stands alone.
std::vector<std::string> WrapWords(std::string_view text, int width);

// Each line broken at spaces where it is wider; what goes on is indented by so much. width 0: as it
// is. Every line ends in a newline.
std::string WrapLines(std::string_view text, int width, int indent = 0);

// "  steps   62 optimizer steps": what it is of, and a text that goes on below itself.
std::string LabelledLine(const std::string& label, int label_width, std::string_view text,
                         int width);

std::string Join(const auto& words, std::string_view separator) {
  std::string text;
  for (const auto& word : words) {
    if (!text.empty()) text += separator;
    text += word;
  }
  return text;
}

// The pieces between separators, the empty ones too; none behind a separator at the end.
std::vector<std::string> Split(std::string_view text, char separator);

}  // namespace trainctl::client
