// Hosts whose certificates of before a time are good for nothing. The file has a line for each:
// "HOST AT", in wall micros. It is forgotten once all that it is about have expired.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/result.h"

namespace trainctl::auth {

// Thread-safe.
class RevokedHosts {
 public:
  static constexpr size_t kMost = 10'000;

  // A missing file has none. kInvalid: the file is damaged, the line is named. kDenied: others may
  // write it, or it is another user's. kIo.
  static base::Result<std::unique_ptr<RevokedHosts>> Open(std::string path);

  // On the disk when it returns. What was said before `forgotten` is forgotten. kExhausted: there
  // are kMost. kIo: nothing has changed.
  base::Status Add(const std::string& host, base::WallMicros at, base::WallMicros forgotten);
  // nullopt: its certificates are good.
  std::optional<base::WallMicros> At(const std::string& host) const;

 private:
  using Hosts = std::map<std::string, base::WallMicros>;

  explicit RevokedHosts(std::string path) : path_(std::move(path)) {}
  base::Status Load();

  const std::string path_;
  mutable std::mutex mutex_;
  Hosts hosts_;
};

}  // namespace trainctl::auth
