// Logs: what the ranks of one attempt wrote; with follow, also what they will write, in later
// attempts too, until the job is FINISHED.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "proto/trainctl.pb.h"
#include "server/rpc/backend.h"
#include "server/rpc/write_stream.h"

namespace trainctl::rpc {

class LogStream : public WriteStream<v1::LogsRequest, v1::LogChunk> {
 public:
  static constexpr int64_t kChunkBytes = 64 << 10;

  explicit LogStream(Backend& backend);
  ~LogStream() override;

 protected:
  void Pump() override;

 private:
  struct Cursor {
    job::RankKey key;
    int64_t offset = 0;
  };
  enum class Progress { kWritten, kNothingNew };

  void Find();
  void OnFound(const store::StoredJob& job);
  void Subscribe();
  void Open(int64_t attempt);
  void FindTails();
  int64_t StartOf(const job::RankKey& key) const;
  bool OpenNextAttempt();
  Progress WriteNext();
  bool JobIsLive() const;

  Backend& backend_;
  base::JobId job_;  // 0: not found yet
  int64_t world_size_ = 0;
  int64_t first_attempt_ =
      0;  // to which the request's tail_lines and from apply; 0: the job had none yet
  int64_t latest_attempt_ = 0;   // of the job
  int64_t attempt_ = 0;          // 0: none yet
  std::vector<Cursor> cursors_;  // one a rank
  size_t next_cursor_ = 0;       // ranks take turns
  bool waiting_ = false;         // for an answer of the read thread
  std::optional<coordinator::ChangeFeed::Subscription> log_subscription_;
  std::optional<coordinator::ChangeFeed::Subscription> job_subscription_;
};

}  // namespace trainctl::rpc
