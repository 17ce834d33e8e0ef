// A worker of the simulated cluster, with its host's processes. It obeys StartRank, StopRank and
// ReleaseRank. It keeps reports until their rank is released. After a reconnect it goes on behind
// what Welcome acknowledges, though that be less than before. Its ranks go on while it has no
// stream.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "server/core/actions.h"
#include "server/core/events.h"

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
  int64_t kill_at_s = 0;  // 0: nobody stops it
  std::string lease;      // that it runs under; empty: none
  std::optional<job::Deadline> deadline;  // in_us of the worker's own time
  bool is_past = false;                   // the worker has stopped it for that
  int64_t sequence = 0;
  int64_t points = 0;                 // metric points made so far
  std::vector<RankReported> reports;  // all of them
  int64_t acknowledged = 0;           // of those
};

class SimWorker {
 public:
  static constexpr int64_t kSteps = 4;

  SimWorker(std::string name, std::string host, std::string model, int64_t index);

  // What the coordinator performed, as it arrives.
  void Receive(const Effect& effect, int64_t now_s, Random& random);
  // One running rank gets on, dies, or hangs; a rank whose grace is over is killed. `peers_alive`:
  // of its attempt.
  void Advance(int64_t now_s, bool peers_alive, bool with_faults, Random& random);
  // Its own time goes on, which no jump of a clock touches: it keeps deadlines.
  void Second(Random& random);
  // kill -9 from outside.
  void Kill(SimRank& rank, Random& random);
  // The host goes down and comes up.
  void Reboot();

  WorkerHello Hello() const;
  void Connect();
  // The coordinator has its Hello: what it sends goes on this stream, no more on one before.
  void Join() { joined_ = true; }
  void Disconnect();
  int64_t own_time_us() const { return own_time_us_; }

  const std::string& name() const { return name_; }
  bool connected() const { return connected_; }
  bool joined() const { return joined_; }
  std::map<job::RankKey, SimRank>& ranks() { return ranks_; }
  // The running rank; null: none. There is never more than one: a second one fails the test.
  SimRank* Running();

  std::deque<Event> to_coordinator;  // in order, lost with the stream
  std::deque<Effect> to_worker;      // likewise
  std::set<base::JobId> asked;       // to inspect, and not answered

 private:
  void Start(const StartRank& start, Random& random);
  void Stop(const StopRank& stop, int64_t now_s, Random& random);
  void Inspect(const InspectJob& ask, Random& random);
  void Keep(const KeepDeadline& keep);
  void EndOrHang(SimRank& rank, int64_t kill_at_s, Random& random);
  void Release(const job::RankKey& key);
  void Acknowledge(const job::RankKey& key, int64_t sequence);
  void Report(SimRank& rank, job::ReportBody body);
  void End(SimRank& rank, const job::RankExit& exit, Random& random);
  void TryMicroBatch(SimRank& rank, Random& random);
  void DoStep(SimRank& rank, Random& random);

  std::string name_, host_, model_;
  int64_t index_;
  int64_t boot_ = 1;
  bool connected_ = false;
  bool joined_ = false;
  bool welcome_ = false;  // reports may be sent
  bool dirty_ = false;
  int64_t own_time_us_ = 0;
  std::map<job::RankKey, SimRank> ranks_;  // with a record: running, or ended and not released
};

}  // namespace trainctl::core
