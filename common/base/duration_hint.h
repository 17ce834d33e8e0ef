// Times that people write in other ways than ours (ParseDuration). Pure, thread-safe.
#pragma once

#include <string>
#include <string_view>

namespace trainctl::base {

// "did you mean '10min'?" for "10m"; "" where other names of units explain nothing.
std::string DurationHint(std::string_view text);

}  // namespace trainctl::base
