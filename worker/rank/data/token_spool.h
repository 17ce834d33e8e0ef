// Tokens as they are made, one behind the other. The first kTokensInMemory stay there. Of more all
// go to a nameless file of the cache folder: a data file of any size is never held. That file may
// become the cache's own (token_cache.h). Where nothing can be written they stay in memory, up to a
// bound. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/result.h"
#include "worker/rank/data/token_store.h"
#include "worker/rank/files/digest.h"
#include "worker/rank/files/mapped_file.h"

namespace trainctl::data {

inline constexpr std::string_view kSpoolPrefix = "spool-";  // of names, where files need one

inline constexpr int64_t kTokensInMemory = int64_t{16} << 20;  // 64 MiB

// A file of a folder: kHeadBytes of zeros, then what is appended. It has no name, and goes with its
// process, unless the file system has no such files.
class SpoolFile {
 public:
  static constexpr int64_t kHeadBytes = 88;

  SpoolFile() = default;
  SpoolFile(SpoolFile&& other) noexcept;
  SpoolFile& operator=(SpoolFile&& other) noexcept;
  ~SpoolFile();

  // One that was published, to read. Errors: those of base::OpenRegular.
  static base::Result<SpoolFile> OfPublished(const std::string& path);

  // All: kExhausted: no room. Else kIo. The message names the folder.
  base::Status Open(const std::string& folder);
  base::Status Append(std::span<const std::byte> bytes);
  // From that byte on, in place of Append, from any thread; the digest does not hear of it.
  base::Status WriteAt(std::span<const std::byte> bytes, int64_t begin) const;
  // Writes its head and gives it that name, in place of what had it. False: there is no such file.
  bool Publish(std::span<const std::byte> head, const std::string& path);
  // As it is now.
  base::Result<files::MappedFile> Map() const;

  bool is_open() const { return fd_ >= 0; }
  // What opens it again in this process.
  std::string OpenName() const { return "/proc/self/fd/" + std::to_string(fd_); }
  const files::Xxh64Stream& digest() const { return digest_; }  // of all that was appended

 private:
  base::Error Fault(int error) const;

  int fd_ = -1;
  std::string folder_;
  std::string name_;  // "": it has none
  files::Xxh64Stream digest_;
};

struct SpoolOptions {
  std::string folder = {};  // "": tokens stay in memory
  int width_bytes = 4;      // of a token in the file, 2 or 4
  int64_t tokens_in_memory = kTokensInMemory;
  int64_t most_in_memory = int64_t{256} << 20;  // tokens where there is no file
};

class TokenSpool {
 public:
  explicit TokenSpool(SpoolOptions options = {}) : options_(std::move(options)) {}

  // kExhausted: no room, and more tokens than memory takes. kIo: nothing can be written, and the
  // same. Nothing more is taken then.
  base::Status Append(std::span<const int32_t> ids);
  int64_t size() const { return written_ + std::ssize(rest_); }
  // All of them; nothing is left. file: theirs, if they have one. Errors: those of Append.
  base::Result<TokenStore> Take(SpoolFile* file);

 private:
  base::Status Write();
  // There is no file: all is in memory again, if it may be.
  base::Status GiveUp(const base::Error& error);

  SpoolOptions options_;
  SpoolFile file_;
  base::Status no_file_ = base::Ok{};  // why
  int64_t written_ = 0;                // tokens in the file
  std::vector<int32_t> rest_;          // behind them
};

}  // namespace trainctl::data
