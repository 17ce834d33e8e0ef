// The key that an unknown one may mean.
#pragma once

#include <string>
#include <string_view>

namespace trainctl::job {

// "did you mean 'micro_batch_size'?" for an unknown key, or "". What another program calls a
// key comes first (foreign_names.h). Then come the nearest key of its section, and a key of that
// name elsewhere. Last comes the only key that it begins.
std::string SuggestKey(std::string_view key);

}  // namespace trainctl::job
