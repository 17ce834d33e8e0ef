#include "worker/rank/train/join_gang.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "worker/rank/comm/shared_shards.h"

namespace trainctl::train {
namespace {

// The others may tokenize for hours before they come. The coordinator ends a gang in which no rank
// makes progress (server/core/deadlines.cc): this bound is for a rank that it has forgotten.
constexpr double kJoinTimeoutSeconds = 24 * 3600;

// Tells the reporter when the rank waits for others, and the meter how long. That tells a hung rank
// from those that wait for it, and a slow one.
class WatchedCommunicator : public comm::Communicator {
 public:
  WatchedCommunicator(std::unique_ptr<comm::Communicator> inner, Reporter& reporter,
                      WaitMeter& waits)
      : inner_(std::move(inner)), reporter_(reporter), waits_(waits) {}

  int64_t rank() const override { return inner_->rank(); }
  int64_t world_size() const override { return inner_->world_size(); }
  Ticket AllReduce(const at::Tensor& tensor) override {
    const Waiting waiting(reporter_);
    return inner_->AllReduce(tensor);
  }
  Ticket AllGather(const at::Tensor& output, const at::Tensor& input) override {
    const Waiting waiting(reporter_);
    return inner_->AllGather(output, input);
  }
  Ticket ReduceScatter(const at::Tensor& output, const at::Tensor& input) override {
    const Waiting waiting(reporter_);
    return inner_->ReduceScatter(output, input);
  }
  Ticket Broadcast(const at::Tensor& tensor, int64_t root) override {
    const Waiting waiting(reporter_);
    return inner_->Broadcast(tensor, root);
  }
  void Wait(Ticket ticket) override {
    const Waiting waiting(reporter_);
    const WaitMeter::Span span(waits_);
    inner_->Wait(ticket);
  }
  std::unique_ptr<comm::SharedShards> MakeShards(const std::vector<int64_t>& numels,
                                                 const at::TensorOptions& options) override {
    const Waiting waiting(reporter_);
    return inner_->MakeShards(numels, options);
  }
  void CheckHealth() override { inner_->CheckHealth(); }
  void Abort() noexcept override { inner_->Abort(); }

 private:
  struct Waiting {
    explicit Waiting(Reporter& to) : reporter(to) { reporter.Stage(job::Stage::kCollective); }
    ~Waiting() { reporter.Stage(job::Stage::kCompute); }
    Reporter& reporter;
  };

  std::unique_ptr<comm::Communicator> inner_;
  Reporter& reporter_;
  WaitMeter& waits_;
};

}  // namespace

std::unique_ptr<comm::Communicator> JoinGang(const job::RankPlan& plan, at::Device device,
                                             const GangEars& ears, bool reads_peers) {
  comm::JoinOptions options{.cuda = device.is_cuda(),
                            .rank = plan.rank,
                            .world_size = plan.world_size,
                            .bind_address = plan.bind_address,
                            .timeout_seconds = kJoinTimeoutSeconds,
                            .reads_peers = reads_peers};
  options.publish = [&](const std::string& blob) { ears.reporter.Send(job::RankRendezvous{blob}); };
  options.await_blob = [&] {
    const std::optional<std::string> blob = ears.commands.AwaitPeers(kJoinTimeoutSeconds);
    if (!blob) throw comm::CommError("rank 0's address never arrived");
    return *blob;
  };
  return std::make_unique<WatchedCommunicator>(comm::Join(options), ears.reporter, ears.waits);
}

}  // namespace trainctl::train
