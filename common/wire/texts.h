// What texts of a message are believed: they come from another machine.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>

#include "common/base/result.h"

namespace trainctl::wire {

inline constexpr size_t kMaxTextBytes = 256;

// 1 to kMaxTextBytes printable ASCII characters, no spaces.
bool IsName(const std::string& text);

// What people see may be any text, but not a long one. kInvalid names the first field of more than
// kMaxTextBytes.
base::Status CheckTexts(std::initializer_list<std::pair<const char*, const std::string*>> fields);

}  // namespace trainctl::wire
