#include "worker/agent/coordinator_stream.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <boost/asio/post.hpp>
#include <deque>
#include <future>
#include <utility>

#include "common/wire/grpc_code.h"
#include "common/wire/valid_text.h"
#include "proto/trainctl.grpc.pb.h"
#include "worker/agent/join.h"

namespace trainctl::agent {
namespace {

// Each try has a channel of its own. gRPC's backoff, which channels share, would else come on top
// of ours.
std::shared_ptr<grpc::Channel> MakeChannel(const CoordinatorAddress& address,
                                           const KeepAlive& keep_alive) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, static_cast<int>(keep_alive.silence.count()));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, static_cast<int>(keep_alive.answer.count()));
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // no limit
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // a proxy for the web is none for coordinators
  if (address.connected)
    return grpc::CreateCustomInsecureChannelFromFd(address.text, *address.connected, arguments);
  const auto credentials =
      address.keys ? CredentialsOf(*address.keys) : grpc::InsecureChannelCredentials();
  return grpc::CreateCustomChannel(address.text, credentials, arguments);
}

}  // namespace

class CoordinatorStream::Reactor
    : public grpc::ClientBidiReactor<v1::WorkerMessage, v1::CoordinatorMessage> {
 public:
  Reactor(boost::asio::io_context& io, const CoordinatorAddress& address,
          const KeepAlive& keep_alive, Callbacks callbacks)
      : io_(io),
        callbacks_(std::move(callbacks)),
        stub_(v1::WorkerGateway::NewStub(MakeChannel(address, keep_alive))) {
    stub_->async()->Connect(&context_, this);
    AddHold();  // operations are started from the loop, outside of reactions
    StartRead(&incoming_);
    StartCall();
  }

  ~Reactor() override {
    *alive_ = false;
    context_.TryCancel();
    LetGo();
    done_->get_future().wait();
  }

  void Send(v1::WorkerMessage message) {
    if (closing_) return;
    wire::MakeTextValid(&message);
    outgoing_.push_back(std::move(message));
    if (outgoing_.size() == 1) StartWrite(&outgoing_.front());
  }

  bool writable() const { return !closing_ && outgoing_.size() < kMaxQueued; }

 private:
  // The gRPC side: any thread.
  void OnReadDone(bool ok) override {
    Post([this, ok] { Received(ok); });
  }
  void OnWriteDone(bool ok) override {
    Post([this, ok] { Written(ok); });
  }
  void OnDone(const grpc::Status& status) override {
    const base::Error reason =
        status.ok() ? base::Error{base::Code::kUnavailable, "the coordinator ended the stream"}
                    : base::Error{wire::FromGrpcCode(status.error_code()), status.error_message()};
    Post([this, reason] { callbacks_.on_closed(reason); });
    const auto done =
        done_;  // outlives this object, whose destructor may run as soon as the value is there
    done->set_value();
  }

  template <class Handler>
  void Post(Handler handler) {
    boost::asio::post(io_, [alive = alive_, handler = std::move(handler)] {
      if (*alive) handler();
    });
  }

  // The loop's side. A callback may destroy this object: it comes last.
  void Received(bool ok) {
    if (!ok) return LetGo();
    const v1::CoordinatorMessage message = std::move(incoming_);
    incoming_.Clear();
    if (!closing_) StartRead(&incoming_);
    callbacks_.on_message(message);
  }

  void Written(bool ok) {
    outgoing_.pop_front();
    if (!ok) return LetGo();
    if (closing_) return;
    if (!outgoing_.empty()) StartWrite(&outgoing_.front());
    callbacks_.on_writable();
  }

  void LetGo() {
    if (std::exchange(closing_, true)) return;
    context_.TryCancel();
    RemoveHold();
  }

  boost::asio::io_context& io_;
  const Callbacks callbacks_;
  const std::unique_ptr<v1::WorkerGateway::Stub> stub_;
  grpc::ClientContext context_;
  v1::CoordinatorMessage incoming_;
  std::deque<v1::WorkerMessage> outgoing_;  // the front one is being written
  bool closing_ = false;                    // no operation is started any more
  const std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
  const std::shared_ptr<std::promise<void>> done_ = std::make_shared<std::promise<void>>();
};

CoordinatorStream::CoordinatorStream(boost::asio::io_context& io, const CoordinatorAddress& address,
                                     const KeepAlive& keep_alive, Callbacks callbacks)
    : reactor_(std::make_unique<Reactor>(io, address, keep_alive, std::move(callbacks))) {}

CoordinatorStream::~CoordinatorStream() = default;

void CoordinatorStream::Send(v1::WorkerMessage message) { reactor_->Send(std::move(message)); }

bool CoordinatorStream::writable() const { return reactor_->writable(); }

}  // namespace trainctl::agent
