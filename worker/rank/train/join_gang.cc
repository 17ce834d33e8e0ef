#include "worker/rank/train/join_gang.h"

#include <optional>
#include <string>

#include "worker/rank/process/watched_communicator.h"

namespace trainctl::train {
namespace {

// The others may tokenize for hours before they come. The coordinator ends a gang in which no rank
// makes progress (server/core/deadlines.cc): this bound is for a rank that it has forgotten.
constexpr double kJoinTimeoutSeconds = 24 * 3600;

}  // namespace

std::unique_ptr<comm::Communicator> JoinGang(const job::RankPlan& plan, at::Device device,
                                             Commands& commands, Reporter& reporter) {
  comm::JoinOptions options{.cuda = device.is_cuda(),
                            .rank = plan.rank,
                            .world_size = plan.world_size,
                            .bind_address = plan.bind_address,
                            .timeout_seconds = kJoinTimeoutSeconds};
  options.publish = [&](const std::string& blob) { reporter.Send(job::RankRendezvous{blob}); };
  options.await_blob = [&] {
    const std::optional<std::string> blob = commands.AwaitPeers(kJoinTimeoutSeconds);
    if (!blob) throw comm::CommError("rank 0's address never arrived");
    return *blob;
  };
  return std::make_unique<WatchedCommunicator>(comm::Join(options), reporter);
}

}  // namespace trainctl::train
