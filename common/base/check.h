// CHECK(condition) << context: an error of the programmer, never of a user or of the world. Stays
// on in release builds: prints file, line, the condition and the context to stderr, then aborts.
// The file is named from the root of the checkout, wherever the build folder is.
#pragma once

#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string_view>

namespace trainctl::base {

// This header as the compiler was told of it. What stands before its name stands before the name of
// every other file of the checkout.
inline constexpr std::string_view kCheckHeaderName = "common/base/check.h";
constexpr std::string_view kCheckHeader = __FILE__;

// The name without the path of the checkout; the name itself where it lies elsewhere.
constexpr std::string_view InCheckout(std::string_view file, std::string_view check_header) {
  if (!check_header.ends_with(kCheckHeaderName)) return file;
  check_header.remove_suffix(kCheckHeaderName.size());
  if (file.starts_with(check_header)) file.remove_prefix(check_header.size());
  return file;
}

class CheckFailure {
 public:
  CheckFailure(std::string_view file, int line, const char* condition) {
    text_ << file << ":" << line << ": CHECK(" << condition << ") failed ";
  }
  [[noreturn]] ~CheckFailure() {
    std::cerr << text_.str() << std::endl;
    std::abort();
  }
  template <class T>
  CheckFailure& operator<<(const T& value) {
    text_ << value;
    return *this;
  }

 private:
  std::ostringstream text_;
};

}  // namespace trainctl::base

// c10's logging header, which LibTorch includes, defines a macro of this name and meaning; ours
// stands.
#undef CHECK
#define CHECK(condition)                                                                  \
  if (condition) {                                                                        \
  } else                                                                                  \
    ::trainctl::base::CheckFailure(                                                       \
        ::trainctl::base::InCheckout(__FILE__, ::trainctl::base::kCheckHeader), __LINE__, \
        #condition)
