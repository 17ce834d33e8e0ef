// The connected workers: one stream each, the newest of a name. The loop's thread only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/job/samples.h"
#include "server/coordinator/worker_channel.h"

namespace trainctl::coordinator {

class WorkerSessions {
 public:
  struct Session {
    WorkerChannel* channel = nullptr;
    std::string incarnation;  // of the process behind it
    base::SteadyMicros last_heard = 0;
    std::vector<job::RankKey> held;  // of its Hello
    std::optional<job::DeviceSample> device;
    std::optional<job::HostSample> host;
    std::map<job::RankKey, int64_t> log_acks;  // stored and not yet said
    std::set<job::RankKey> stalled_logs;       // to be told again
    // Of ranks that it sent logs of.
    enum class Logs {
      kForeign,  // not its to speak of
      kUnknown,  // of a job that the site does not know, or no more
      kKept,
      kRemoved,  // of a job that has none any more
    };
    std::map<job::RankKey, Logs> logs;
  };

  // Ends the older stream of that process. nullptr: the name has a stream of another process, which
  // keeps it.
  Session* Join(const std::string& worker, const std::string& incarnation, WorkerChannel& channel,
                base::SteadyMicros now);
  // The session that this stream is, after noting that it was heard; nullptr: a newer stream has
  // taken its place.
  Session* Hear(const std::string& worker, const WorkerChannel& channel, base::SteadyMicros now);
  // False: a newer stream had taken its place already.
  bool Leave(const std::string& worker, const WorkerChannel& channel);

  // Ends the stream of that name and forgets it.
  void End(const std::string& worker, const base::Error& reason);

  // nullptr: not connected.
  Session* Find(const std::string& worker);
  // To a worker that is away: dropped. It is told all it needs to know when it comes back.
  void Send(const std::string& worker, const WorkerCommand& command);
  void SendLogAcks();
  // Those of which tell(channel, rank) says that it was told are stalled no longer.
  template <class Tell>
  void TellStalledLogs(Tell tell) {
    for (auto& [worker, session] : sessions_) {
      std::erase_if(session.stalled_logs,
                    [&](const job::RankKey& key) { return tell(*session.channel, key); });
    }
  }
  // What they still send of its logs is nobody's.
  void ForgetLogsOf(base::JobId job);

  struct Silent {
    std::string worker;
    base::SteadyMicros last_heard = 0;
  };
  // Ends the streams that nothing was heard of since `then`, and forgets them.
  std::vector<Silent> EndSilent(base::SteadyMicros then);
  void EndAll(const base::Error& reason);

  const std::map<std::string, Session>& all() const { return sessions_; }

 private:
  std::map<std::string, Session> sessions_;
};

}  // namespace trainctl::coordinator
