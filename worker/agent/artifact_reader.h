// Reads what ranks on this host have saved, for the coordinator, which keeps their record of it
// (common/base/saved_folder.h). No other file is served, and none of a folder that another has
// replaced. Files are read on threads that are given up where a mount hangs; answers come on the
// io_context's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
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
  std::string record;  // of the rank that saved it
};

inline constexpr size_t kMaxPieceBytes = 1 << 20;

// kInvalid: there is no record, or the offset is negative. kNotFound: no such file was saved, or it
// is gone. kConflict: something else stands in its place. kIo. Blocks.
base::Result<ArtifactPiece> ReadArtifact(const ArtifactQuestion& question);

class ArtifactReader {
 public:
  using Answer = std::function<void(base::Result<ArtifactPiece>)>;
  using Read = std::function<base::Result<ArtifactPiece>(const ArtifactQuestion&)>;

  static constexpr size_t kMaxThreads = 4;
  static constexpr size_t kMaxWaiting = 64;

  // read is called on threads that may outlive this object.
  explicit ArtifactReader(boost::asio::io_context& io, Read read = ReadArtifact,
                          std::chrono::milliseconds patience = std::chrono::seconds(20));
  // Waits for nothing; answers that are due never come.
  ~ArtifactReader();

  // kExhausted: kMaxWaiting questions wait already. kUnavailable: no answer within the patience.
  void Ask(ArtifactQuestion question, Answer answer);

 private:
  class State;
  const std::shared_ptr<State> state_;
};

}  // namespace trainctl::agent
