// What a rank said, from its folder's files to the coordinator. Messages go by number and as they
// are, the log goes by offset, and last of all the end. Nothing is kept here that the files and the
// coordinator's acknowledgements don't tell. So a restarted worker goes on where the coordinator
// is. The end follows the messages, and the log too unless that takes too long (LetEndOvertakeLog).
// Not thread-safe.
//
// Bounds: at most kMessageWindow messages and kLogWindowBytes of log are sent without being
// acknowledged. Log that stays so for kLogPatienceMicros is sent again: the coordinator's disk was
// full, and it has dropped it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/rank/rank_report.h"
#include "worker/shim/spool.h"

namespace trainctl::v1 {
class WorkerMessage;
}

namespace trainctl::agent {

class Relay {
 public:
  static constexpr int64_t kMessageWindow = 256;
  static constexpr int64_t kLogWindowBytes = 4 << 20;
  static constexpr size_t kLogChunkBytes = 64 << 10;
  static constexpr base::SteadyMicros kLogPatienceMicros = 5'000'000;

  Relay(job::RankKey key, std::string folder);

  // The coordinator has messages up to this number and this much of the log: goes on behind them.
  void Resume(int64_t stored_sequence, int64_t stored_log_bytes);
  void Acknowledge(int64_t sequence);
  // again: what was sent behind it was not stored, and is sent again.
  void AcknowledgeLog(int64_t offset, bool again = false);
  // Due now and then.
  void SendLogAgainIfStalled(base::SteadyMicros now);

  // The rank's tree is gone since then (0: nobody knows), its files are complete.
  void SetEnd(job::ReportBody end, base::WallMicros ended_at) {
    end_ = std::move(end);
    ended_at_ = ended_at;
  }
  // A long log shall not keep the end back any more: the rest of the gang waits for it.
  void LetEndOvertakeLog() { end_overtakes_log_ = true; }

  // What to send next; nullopt: nothing now.
  std::optional<v1::WorkerMessage> Next(base::WallMicros now);

  int64_t stored_sequence() const { return stored_sequence_; }
  // Whether the coordinator has the whole log.
  bool log_stored() const;
  // Of what was read so far: the step that the rank is at, from 0.
  int64_t step() const { return step_; }

 private:
  std::optional<v1::WorkerMessage> NextMessage(base::WallMicros now);
  std::optional<v1::WorkerMessage> NextLog();
  std::optional<v1::WorkerMessage> End(base::WallMicros now);
  void NoteStep(const std::string& line);

  const job::RankKey key_;
  const std::string folder_;
  shim::SpoolReader reader_;
  int64_t stored_sequence_ = 0;
  int64_t sent_sequence_ = 0;
  int64_t stored_log_bytes_ = 0;
  int64_t sent_log_bytes_ = 0;
  int64_t waiting_at_ = 0;                // what was stored of the log at
  base::SteadyMicros waiting_since_ = 0;  //
  std::optional<job::ReportBody> end_;
  base::WallMicros ended_at_ = 0;
  bool end_sent_ = false;
  bool end_overtakes_log_ = false;
  int64_t step_ = 0;
};

}  // namespace trainctl::agent
