// CHECK(condition) << context: an error of the programmer, never of a user or of the world. Stays
// on in release builds: prints file, line, the condition and the context to stderr, then aborts.
#pragma once

#include <cstdlib>
#include <iostream>
#include <sstream>

namespace trainctl::base {

class CheckFailure {
 public:
  CheckFailure(const char* file, int line, const char* condition) {
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
#define CHECK(condition) \
  if (condition) {       \
  } else                 \
    ::trainctl::base::CheckFailure(__FILE__, __LINE__, #condition)
