// A disk under SQLite that tells what is left after its host crashes: of what was written and not
// synced any sectors, or none. While one lives, all of SQLite in the process is on it. Files are
// taken to be there since they were opened. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>

namespace trainctl::store {

class CrashingDisk {
 public:
  CrashingDisk();
  ~CrashingDisk();
  CrashingDisk(const CrashingDisk&) = delete;

  // Called before each write and each sync. A crash then leaves what CrashInto writes.
  void BeforeEach(std::function<void()> act) { act_ = std::move(act); }

  // Into the folder, the files of `from` as they may be after a crash now: of each sector that was
  // not synced the new or the old content, each with that chance of a hundred.
  void CrashInto(const std::string& from, const std::string& folder, uint64_t percent_kept,
                 std::mt19937_64& random) const;

  // What SQLite's files do here.
  void Opened(const std::string& path);
  void BeforeWrite(const std::string& path, int64_t offset, int64_t bytes);
  void BeforeSync(const std::string& path);
  void Synced(const std::string& path);
  void Deleted(const std::string& path) { files_.erase(path); }

 private:
  struct Kept {
    std::string synced;
    std::set<int64_t> written;  // sectors, since
  };

  std::map<std::string, Kept> files_;  // by path
  std::function<void()> act_;
};

}  // namespace trainctl::store
