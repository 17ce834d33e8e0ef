#include "worker/rank/comm/host_rendezvous.h"

#include "common/base/check.h"
#include "worker/rank/comm/comm_error.h"
#include "worker/rank/comm/endpoints.h"
#include "worker/rank/comm/handshake.h"
#include "worker/rank/comm/newcomers.h"

namespace trainctl::comm {
namespace {

// One rank's side of the rendezvous, from its listener to the whole mesh.
class MeshBuilder {
 public:
  explicit MeshBuilder(const JoinOptions& options)
      : options_(options),
        deadline_(std::chrono::steady_clock::now() +
                  std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                      std::chrono::duration<double>(options.timeout_seconds))),
        listener_(Listen(options.bind_address)),
        sockets_(static_cast<size_t>(options.world_size)),
        endpoints_(static_cast<size_t>(options.world_size)) {
    endpoints_[Index(options.rank)] = ToWire({options.bind_address, LocalPort(listener_)});
  }

  std::vector<Socket> Invite() {
    FillRandom(secret_);
    options_.publish(ToBlob({Own(), secret_}));
    AcceptRanksFrom(1);
    for (int64_t rank = 1; rank < options_.world_size; ++rank) {
      SendAll(sockets_[Index(rank)], std::as_bytes(std::span(endpoints_)), deadline_, Name(rank));
    }
    return std::move(sockets_);
  }

  std::vector<Socket> Follow() {
    const Invitation invitation = FromBlob(options_.await_blob());
    secret_ = invitation.secret;
    Greet(0, invitation.rank0);
    ReceiveTable(invitation.rank0);
    for (int64_t rank = 1; rank < options_.rank; ++rank) {
      Greet(rank, FromWire(endpoints_[Index(rank)], Name(rank)));
    }
    AcceptRanksFrom(options_.rank + 1);
    return std::move(sockets_);
  }

 private:
  static size_t Index(int64_t rank) { return static_cast<size_t>(rank); }
  static std::string Name(int64_t rank) { return "rank " + std::to_string(rank); }
  Endpoint Own() const { return FromWire(endpoints_[Index(options_.rank)], Name(options_.rank)); }

  void Greet(int64_t rank, const Endpoint& endpoint) {
    Socket socket = Connect(endpoint, deadline_, options_.bind_address);
    Hello hello{.rank = static_cast<int32_t>(options_.rank),
                .world_size = static_cast<int32_t>(options_.world_size),
                .listens_at = endpoints_[Index(options_.rank)]};
    FillRandom(hello.nonce);
    SendAll(socket, Bytes(hello), deadline_, Name(rank));
    Answer answer;
    ReceiveAll(socket, Bytes(answer), deadline_, Name(rank) + " at " + ToString(endpoint));
    if (!Same(answer.proof, ProofOf(Side::kListens, secret_, hello, answer.nonce, rank))) {
      throw CommError("what listens at " + ToString(endpoint) + " is not " + Name(rank) +
                      " of this group: it does not know this attempt's secret");
    }
    Proof proof = ProofOf(Side::kConnects, secret_, hello, answer.nonce, rank);
    SendAll(socket, Bytes(proof), deadline_, Name(rank));
    sockets_[Index(rank)] = std::move(socket);
  }

  void ReceiveTable(const Endpoint& rank0) {
    try {
      ReceiveAll(sockets_[0], std::as_writable_bytes(std::span(endpoints_)), deadline_,
                 "rank 0 at " + ToString(rank0));
    } catch (const CommError& error) {
      throw CommError(Name(options_.rank) + " waited for rank 0 to introduce the " +
                      std::to_string(options_.world_size) + " ranks of the group: " + error.what());
    }
  }

  void AcceptRanksFrom(int64_t first) {
    Newcomers newcomers(listener_, secret_, options_.rank, options_.world_size);
    for (int64_t missing = options_.world_size - first; missing > 0;) {
      auto [hello, socket] = NextOrExplain(newcomers, first);
      if (Admit(hello, first)) {
        sockets_[Index(hello.rank)] = std::move(socket);
        endpoints_[Index(hello.rank)] = hello.listens_at;
        --missing;
      }
    }
  }

  Newcomers::Proven NextOrExplain(Newcomers& newcomers, int64_t first) {
    try {
      return newcomers.Next(deadline_);
    } catch (const CommError& error) {
      std::string missing;
      for (int64_t rank = first; rank < options_.world_size; ++rank) {
        missing += sockets_[Index(rank)].is_open()
                       ? ""
                       : (missing.empty() ? "" : ", ") + std::to_string(rank);
      }
      throw CommError(Name(options_.rank) + " waited for rank " + missing + " of " +
                      std::to_string(options_.world_size) + " to connect to " + ToString(Own()) +
                      ": " + error.what());
    }
  }

  bool Admit(const Hello& hello, int64_t first) const {
    return IsOfGroup(hello, first, options_.world_size) && !sockets_[Index(hello.rank)].is_open();
  }

  const JoinOptions& options_;
  const Deadline deadline_;
  const Socket listener_;
  Secret secret_{};
  std::vector<Socket> sockets_;
  std::vector<WireEndpoint> endpoints_;
};

}  // namespace

std::vector<Socket> JoinMesh(const JoinOptions& options) {
  CHECK(options.world_size >= 1 && options.world_size <= kMaxHostRanks) << options.world_size;
  CHECK(options.rank >= 0 && options.rank < options.world_size)
      << options.rank << " of " << options.world_size;
  MeshBuilder builder(options);
  return options.rank == 0 ? builder.Invite() : builder.Follow();
}

}  // namespace trainctl::comm
