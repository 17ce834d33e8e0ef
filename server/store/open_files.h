// A database's files while it is open: others may move them away, and what is written goes on to
// where no start finds it. Internal to this room. Thread-safe.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/base/result.h"

namespace trainctl::store {

class OpenFiles {
 public:
  // The database of that path and its log, as they lie there now: once SQLite has both open.
  explicit OpenFiles(const std::string& path);

  // kIo: another file lies in the place of one, or none.
  base::Status CheckInPlace() const;

 private:
  using Identity = std::pair<dev_t, ino_t>;
  struct Opened {
    std::string path;
    std::optional<Identity> identity;
  };
  static std::optional<Identity> IdentityOf(const std::string& path);

  std::vector<Opened> files_;
};

}  // namespace trainctl::store
