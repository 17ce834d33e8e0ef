// Result<T>: a value, or the error of a user or of the world. Errors are values; exceptions of
// libraries end in one named file each.
#pragma once

#include <string>
#include <utility>
#include <variant>

#include "common/base/check.h"

namespace trainctl::base {

// A code exists only where a caller reacts to it.
enum class Code {
  kInvalid,      // what was given is wrong: the caller must change it (exit 2)
  kNotFound,     // no such job, group, worker, file (exit 3)
  kUnavailable,  // a process or device can't be reached now: trying again may help (exit 5)
  kExhausted,    // out of memory, disk, queue space
  kConflict,     // the state does not allow it (already ended, already running)
  kDenied,       // the caller may not do this; who may is said (exit 6)
  kIo,           // the operating system refused
  kInternal,     // a bug on the other side of a boundary
};

struct Error {
  Code code = Code::kInternal;
  std::string message;  // what, the value, what was expected, what to do
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}
  Result(Error error) : value_(std::move(error)) {}

  bool ok() const { return std::holds_alternative<T>(value_); }
  explicit operator bool() const { return ok(); }
  T& value() & {
    CHECK(ok()) << error().message;
    return std::get<T>(value_);
  }
  const T& value() const& {
    CHECK(ok()) << error().message;
    return std::get<T>(value_);
  }
  T&& value() && {
    CHECK(ok()) << error().message;
    return std::get<T>(std::move(value_));
  }
  const Error& error() const { return std::get<Error>(value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, Error> value_;
};

struct Ok {};
using Status = Result<Ok>;

}  // namespace trainctl::base
