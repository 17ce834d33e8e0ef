// What a clone without Git LFS leaves in place of a large file.
#pragma once

#include <string_view>

namespace trainctl::files {

inline constexpr std::string_view kLfsPointerText =
    "a pointer of Git LFS in place of the file: git lfs pull";

// Whether a file that begins so is one.
inline bool IsLfsPointer(std::string_view head) {
  return head.starts_with("version https://git-lfs");
}

}  // namespace trainctl::files
