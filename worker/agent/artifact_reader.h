// Reads what ranks on this host have saved, for the coordinator, which keeps their record of it
// (common/base/saved_folder.h). No other file is served, and none of a folder that another has
// replaced. Files are read on threads that are given up where a mount hangs; answers come on the
// io_context's thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>

#include "common/base/result.h"
#include "common/job/host_rules.h"
#include "common/rank/artifact.h"

namespace trainctl::agent {

// kInvalid: there is no record, the offset is negative, or the owner's jobs don't run here.
// kDenied: it lies outside of what they may read. kNotFound: no such file was saved, or it is gone.
// kConflict: something else stands in its place. kIo. Blocks. Where ranks run as their owners, the
// calling thread has the owner's rights to files from then on.
base::Result<job::ArtifactPiece> ReadArtifact(const job::ArtifactQuestion& question,
                                              const job::HostRules& rules = {});

class ArtifactReader {
 public:
  using Answer = std::function<void(base::Result<job::ArtifactPiece>)>;
  using Read = std::function<base::Result<job::ArtifactPiece>(const job::ArtifactQuestion&)>;

  static constexpr size_t kMaxThreads = 4;
  static constexpr size_t kMaxThreadsOfOwner = kMaxThreads / 2;  // one's mount may hang
  static constexpr size_t kMaxWaiting = 64;
  static constexpr size_t kMaxWaitingOfOwner = kMaxWaiting / 4;

  // read is called on threads that may outlive this object.
  explicit ArtifactReader(boost::asio::io_context& io, Read read,
                          std::chrono::milliseconds patience = std::chrono::seconds(20));
  // Waits for nothing; answers that are due never come.
  ~ArtifactReader();

  // kExhausted: too many questions wait already, or too many of this job's owner. kUnavailable: no
  // answer within the patience.
  void Ask(job::ArtifactQuestion question, Answer answer);

 private:
  class State;
  const std::shared_ptr<State> state_;
};

}  // namespace trainctl::agent
