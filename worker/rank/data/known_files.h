// Data files as they were when their reading began. Whether they still are is asked again. Their
// digest is kept for as long as they are: a later run need not read gigabytes for it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/files/file_identity.h"

namespace trainctl::data {

class KnownFiles {
 public:
  // Before the files are opened. now_ns: since 1970. Errors: those of files::IdentityOf.
  static base::Result<KnownFiles> Of(const std::vector<std::string>& paths,
                                     int64_t now_ns = NowNs());

  const std::vector<std::string>& paths() const { return paths_; }

  // kInvalid: one of them was changed or replaced since, and which.
  base::Status CheckUnchanged() const;

  // What was kept of these very files in the folder; "": nowhere. Damaged is nothing.
  std::optional<std::string> FindDigest(const std::string& folder) const;
  // Of few bytes, and of files that were changed in the last seconds, nothing is kept: the same
  // second may change them again. A folder that can't be written is left out.
  void KeepDigest(const std::string& folder, const std::string& digest) const;

  // Fewer are read quickly.
  static constexpr int64_t kLeastKeptBytes = 64 << 20;

 private:
  static int64_t NowNs();
  std::string Text() const;
  std::string PathIn(const std::string& folder) const;

  std::vector<std::string> paths_;
  std::vector<files::FileIdentity> identities_;
  int64_t known_ns_ = 0;  // when they were so; since 1970
};

}  // namespace trainctl::data
