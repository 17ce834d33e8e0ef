// A descriptor that is closed where nobody takes it.
#pragma once

#include <unistd.h>

#include <utility>

namespace trainctl::peer {

class OpenFile {
 public:
  explicit OpenFile(int file = -1) : file_(file) {}
  ~OpenFile() { Close(); }
  OpenFile(OpenFile&& other) noexcept : file_(other.Take()) {}
  OpenFile& operator=(OpenFile&& other) noexcept {
    Close();
    file_ = other.Take();
    return *this;
  }

  int get() const { return file_; }
  int Take() { return std::exchange(file_, -1); }
  void Close() {
    if (file_ >= 0) close(Take());
  }

 private:
  int file_;
};

}  // namespace trainctl::peer
