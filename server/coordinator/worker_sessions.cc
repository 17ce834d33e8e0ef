#include "server/coordinator/worker_sessions.h"

#include <utility>

namespace trainctl::coordinator {

WorkerSessions::Session* WorkerSessions::Join(const std::string& worker,
                                              const std::string& incarnation,
                                              WorkerChannel& channel, base::SteadyMicros now) {
  Session* older = Find(worker);
  if (older != nullptr && older->incarnation != incarnation) return nullptr;
  if (older != nullptr)
    older->channel->End({base::Code::kUnavailable,
                         "another stream of worker '" + worker + "' has taken this one's place"});
  Session& session = sessions_[worker];
  session = Session{&channel, incarnation, now, {}, {}, {}, {}, {}, {}};
  return &session;
}

WorkerSessions::Session* WorkerSessions::Hear(const std::string& worker,
                                              const WorkerChannel& channel,
                                              base::SteadyMicros now) {
  Session* session = Find(worker);
  if (session == nullptr || session->channel != &channel) return nullptr;
  session->last_heard = now;
  return session;
}

bool WorkerSessions::Leave(const std::string& worker, const WorkerChannel& channel) {
  const auto found = sessions_.find(worker);
  if (found == sessions_.end() || found->second.channel != &channel) return false;
  sessions_.erase(found);
  return true;
}

void WorkerSessions::End(const std::string& worker, const base::Error& reason) {
  const auto found = sessions_.find(worker);
  if (found == sessions_.end()) return;
  found->second.channel->End(reason);
  sessions_.erase(found);
}

WorkerSessions::Session* WorkerSessions::Find(const std::string& worker) {
  const auto found = sessions_.find(worker);
  return found == sessions_.end() ? nullptr : &found->second;
}

void WorkerSessions::Send(const std::string& worker, const WorkerCommand& command) {
  const Session* session = Find(worker);
  if (session != nullptr) session->channel->Send(command);
}

void WorkerSessions::SendLogAcks() {
  for (auto& [worker, session] : sessions_) {
    for (const auto& [key, offset] : std::exchange(session.log_acks, {}))
      session.channel->Send(LogStored{key, offset});
  }
}

void WorkerSessions::ForgetLogsOf(base::JobId job) {
  for (auto& [worker, session] : sessions_) {
    std::erase_if(session.logs, [job](const auto& rank) { return rank.first.job == job; });
    std::erase_if(session.stalled_logs,
                  [job](const job::RankKey& rank) { return rank.job == job; });
  }
}

std::vector<WorkerSessions::Silent> WorkerSessions::EndSilent(base::SteadyMicros then) {
  std::vector<Silent> silent;
  for (auto at = sessions_.begin(); at != sessions_.end();) {
    if (at->second.last_heard >= then) {
      ++at;
      continue;
    }
    at->second.channel->End(
        {base::Code::kUnavailable, "nothing was heard of worker '" + at->first + "'"});
    silent.push_back({at->first, at->second.last_heard});
    at = sessions_.erase(at);
  }
  return silent;
}

void WorkerSessions::EndAll(const base::Error& reason) {
  for (const auto& [worker, session] : std::exchange(sessions_, {})) session.channel->End(reason);
}

}  // namespace trainctl::coordinator
