// Reads what ranks on this host have saved, for the coordinator, which has checked that a rank
// reported the path. Symbolic links below it are neither listed nor followed. Files are read on a
// thread of its own, so that a slow disk holds up nothing else; answers come on the io_context's
// thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/result.h"

namespace trainctl::agent {

struct ArtifactFile {
  std::string path;  // relative to the artifact; of an artifact that is a file its name
  int64_t bytes = 0;
};

// Of a listing the files, in order of path; else the data.
struct ArtifactPiece {
  std::vector<ArtifactFile> files;
  std::string data;
};

struct ArtifactQuestion {
  std::string path;  // absolute
  std::string file;  // as it was listed; empty: list the files
  int64_t offset = 0;
};

inline constexpr size_t kMaxPieceBytes = 1 << 20;
inline constexpr size_t kMaxFiles = 10'000;

// kInvalid: no path within the artifact. kNotFound: there is no such file. kExhausted: more files
// than are listed. kIo. Blocks.
base::Result<ArtifactPiece> ReadArtifact(const ArtifactQuestion& question);

class ArtifactReader {
 public:
  using Answer = std::function<void(base::Result<ArtifactPiece>)>;

  explicit ArtifactReader(boost::asio::io_context& io) : io_(io) {}
  // Waits for the read that goes on; its answer, and those behind it, never come.
  ~ArtifactReader();

  // kExhausted: kMaxWaiting questions wait already.
  void Ask(ArtifactQuestion question, Answer answer);
  static constexpr size_t kMaxWaiting = 64;

 private:
  boost::asio::io_context& io_;
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  size_t waiting_ = 0;
  boost::asio::thread_pool thread_{1};
};

}  // namespace trainctl::agent
