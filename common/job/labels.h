// What a site says of a worker, for constraints: "rack" is "r1". A key and a value are letters,
// digits and . _ - (a value also : and /), so that lists of them need no quotes. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "common/base/result.h"

namespace trainctl::job {

using Labels = std::map<std::string, std::string>;

constexpr size_t kMaxLabels = 32;
constexpr size_t kMaxLabelBytes = 64;  // of a key, and of a value

bool IsLabelKey(std::string_view text);
bool IsLabelValue(std::string_view text);

// "rack=r1". kInvalid says what was expected.
base::Result<std::pair<std::string, std::string>> ParseLabel(std::string_view text);

// "rack=r1,zone=b"; empty: none.
std::string LabelsText(const Labels& labels);
// The same backwards. kInvalid: one is no label, or there are more than kMaxLabels.
base::Result<Labels> ParseLabels(std::string_view text);

}  // namespace trainctl::job
