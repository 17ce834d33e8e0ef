// Bytes in, whole lines out. A line longer than the bound is skipped to its end and counted. So
// memory stays bounded whatever is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace trainctl::shim {

class LineBuffer {
 public:
  explicit LineBuffer(size_t max_line_bytes) : max_line_bytes_(max_line_bytes) {}

  // Calls take(std::string_view) for each line that bytes complete, without its newline. The view
  // lives until take returns.
  template <class Take>
  void Append(std::string_view bytes, Take&& take) {
    for (size_t newline; (newline = bytes.find('\n')) != std::string_view::npos;
         bytes.remove_prefix(newline + 1)) {
      Grow(bytes.substr(0, newline));
      if (skipping_) {
        ++skipped_;
      } else {
        take(std::string_view(partial_));
      }
      Clear();
    }
    Grow(bytes);
  }

  void Clear() {
    partial_.clear();
    skipping_ = false;
  }
  int64_t skipped() const { return skipped_; }

 private:
  void Grow(std::string_view bytes) {
    skipping_ = skipping_ || partial_.size() + bytes.size() > max_line_bytes_;
    if (skipping_) {
      partial_.clear();
    } else {
      partial_ += bytes;
    }
  }

  size_t max_line_bytes_;
  std::string partial_;
  bool skipping_ = false;
  int64_t skipped_ = 0;
};

}  // namespace trainctl::shim
