#include "common/wire/texts.h"

#include <algorithm>

namespace trainctl::wire {

bool IsName(const std::string& text) {
  const auto is_plain = [](unsigned char c) { return c > 0x20 && c < 0x7f; };
  return !text.empty() && text.size() <= kMaxTextBytes &&
         std::all_of(text.begin(), text.end(), is_plain);
}

base::Status CheckTexts(std::initializer_list<std::pair<const char*, const std::string*>> fields) {
  for (const auto& [name, text] : fields) {
    if (text->size() <= kMaxTextBytes) continue;
    return base::Error{base::Code::kInvalid,
                       std::string(name) + ": " + std::to_string(text->size()) +
                           " bytes: expected at most " + std::to_string(kMaxTextBytes)};
  }
  return base::Ok{};
}

}  // namespace trainctl::wire
