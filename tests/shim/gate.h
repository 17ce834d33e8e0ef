// The other end of a rank's `gate PATH` step: the rank waits there until Open.
#pragma once

#include <sys/stat.h>

#include <fstream>
#include <stdexcept>
#include <string>

namespace trainctl::tests {

class Gate {
 public:
  explicit Gate(std::string path) : path_(std::move(path)) {
    if (::mkfifo(path_.c_str(), 0600) != 0) throw std::runtime_error("no fifo");
  }
  void Open() { std::ofstream(path_) << 'g' << std::flush; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace trainctl::tests
