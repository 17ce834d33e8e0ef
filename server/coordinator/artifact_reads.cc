#include "server/coordinator/artifact_reads.h"

#include <algorithm>
#include <utility>

namespace trainctl::coordinator {

void ArtifactReads::Ask(WorkerSessions& sessions, const std::vector<std::string>& workers,
                        const std::string& user, job::ArtifactQuestion question,
                        base::SteadyMicros now, Answer answer) {
  const auto connected = std::find_if(workers.begin(), workers.end(), [&](const auto& name) {
    return sessions.Find(name) != nullptr;
  });
  if (connected == workers.end()) {
    const std::string host =
        workers.empty() ? "" : workers.front().substr(0, workers.front().rfind('/'));
    return answer(base::Error{
        base::Code::kUnavailable,
        "no worker of host " + host + " is connected, so nobody can read " + question.path});
  }
  const base::Result<std::string> id = pending_.Add(*connected, user, now, answer);
  if (!id) return answer(id.error());
  sessions.Send(*connected, AskArtifact{*id, std::move(question)});
}

void ArtifactReads::OnResult(const std::string& worker, const std::string& request_id,
                             job::ArtifactPiece piece, const std::string& error) {
  if (error.empty()) return pending_.Give(worker, request_id, std::move(piece));
  pending_.Give(worker, request_id, base::Error{base::Code::kIo, error});
}

}  // namespace trainctl::coordinator
