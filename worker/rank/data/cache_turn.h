// Of processes that would make the same tokens at the same time, one does: the ranks of a host
// begin together, and the others find in the cache what it made.
#pragma once

#include <string>

namespace trainctl::data {

// A turn at making a file, from the constructor, which waits for who has it, to the destructor.
// Where no lock can be had it waits for nobody.
class CacheTurn {
 public:
  // Locks "<path>.turn", and removes it in the end.
  explicit CacheTurn(const std::string& path);
  ~CacheTurn();
  CacheTurn(const CacheTurn&) = delete;

 private:
  const std::string path_;
  int fd_ = -1;
};

}  // namespace trainctl::data
