// A worker of the simulated cluster, with its host's processes. It obeys StartRank, StopRank and
// ReleaseRank, looks at jobs and removes what they have saved. It keeps reports until their rank is
// released. After a reconnect it goes on behind what Welcome acknowledges, though that be less than
// before. Its ranks go on while it has no stream.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "tests/server/simulation/sim_stream.h"

namespace trainctl::core {

using Random = std::mt19937_64;

// True in `percent` of a hundred cases.
inline bool Chance(Random& random, uint64_t percent) { return random() % 100 < percent; }

struct SimRank {
  job::RankKey key;
  int64_t world_size = 1;
  bool trial = false;  // it owes one
  bool running = true;
  bool succeeded = false;  // it did all its steps
  bool hangs = false;      // from now on
  int64_t step = 0;
  int64_t phase = 0;      // 0 started, 1 loading, 2 joining, 3 steps; a trial comes before 1
  int64_t kill_at_s = 0;  // of the worker's own time; 0: nobody stops it
  std::string lease;      // that it runs under; empty: none
  std::optional<job::Deadline> deadline;  // in_us of the worker's own time
  bool is_past = false;                   // the worker has stopped it for that
  int64_t sequence = 0;
  int64_t points = 0;                 // metric points made so far
  std::vector<RankReported> reports;  // all of them
  int64_t acknowledged = 0;           // of those
  std::string log;                    // all that it has written
};

class SimWorker {
 public:
  static constexpr int64_t kSteps = 4;

  SimWorker(std::string name, std::string host, std::string model, int64_t index);

  // What the coordinator says, as it arrives.
  void Receive(const coordinator::WorkerCommand& command, Random& random);
  // One running rank gets on, dies, or hangs; a rank whose grace is over is killed. `peers_alive`:
  // of its attempt.
  void Advance(bool peers_alive, bool with_faults, Random& random);
  // Its own time goes on, which no jump of a clock touches: it keeps deadlines.
  void Second(Random& random);
  // kill -9 from outside.
  void Kill(SimRank& rank, Random& random);
  // Somebody else uses its device, while it is away and nothing runs there.
  void BeTaken() { dirty_ = dirty_ || !connected(); }
  // The host goes down and comes up.
  void Reboot();
  // From now on it is another process that says who it is.
  void BeginAnew() { ++process_; }

  WorkerHello Hello() const;
  void Connect(std::shared_ptr<SimStream> stream);
  void Disconnect();
  void Say(WorkerWord word);
  // On its device, on which nothing runs.
  void SayItsWord();
  int64_t own_time_us() const { return own_time_us_; }

  const std::string& name() const { return name_; }
  const std::string& host() const { return host_; }
  bool connected() const { return stream_ != nullptr; }
  // Null: it is not connected.
  const std::shared_ptr<SimStream>& stream() const { return stream_; }
  const std::map<job::RankKey, SimRank>& ranks() const { return ranks_; }
  // The running rank; null: none. There is never more than one: a second one fails the test.
  const SimRank* Running() const;
  SimRank* Running() { return const_cast<SimRank*>(std::as_const(*this).Running()); }
  // Its device is not free, though nothing runs there.
  bool is_dirty() const { return dirty_; }
  // The coordinator has taken it up on this stream, and told it so.
  bool is_welcome() const { return welcome_ && !stream_->is_ended; }
  // Nothing is on its way to it either.
  bool has_heard_all() const { return is_welcome() && stream_->to_worker.empty(); }
  // Nor from it.
  bool has_said_all() const { return is_welcome() && stream_->to_coordinator.empty(); }

 private:
  void Obey(const StartRank& start, Random& random);
  void Obey(const StopRank& stop, Random& random);
  void Obey(const KeepDeadline& keep, Random& random);
  void Obey(const ReleaseRank& release, Random& random);
  void Obey(const SendPeers&, Random&) {}
  void Obey(const AckReport& ack, Random& random);
  void Obey(const coordinator::WelcomeWorker& welcome, Random& random);
  void Obey(const coordinator::LogStored& stored, Random& random);
  void Obey(const coordinator::AskInspect& ask, Random& random);
  void Obey(const coordinator::AskArtifact&, Random&) {}
  void Obey(const coordinator::AskOutputs& ask, Random& random);
  void EndOrHang(SimRank& rank, int64_t kill_at_s, Random& random);
  void Write(SimRank& rank, const std::string& line);
  void TellLog(const coordinator::LogStored& stored);
  int64_t own_time_s() const { return own_time_us_ / 1'000'000; }
  void Report(SimRank& rank, job::ReportBody body);
  void End(SimRank& rank, const job::RankExit& exit, Random& random);
  void TryMicroBatch(SimRank& rank, Random& random);
  void DoStep(SimRank& rank, Random& random);

  std::string name_, host_, model_;
  int64_t index_;
  int64_t boot_ = 1;
  int64_t process_ = 0;  // 0: it does not say
  int64_t streams_ = 0;
  std::shared_ptr<SimStream> stream_;
  bool welcome_ = false;  // reports may be sent
  bool dirty_ = false;
  int64_t own_time_us_ = 0;
  std::map<job::RankKey, SimRank> ranks_;  // with a record: running, or ended and not released
};

}  // namespace trainctl::core
