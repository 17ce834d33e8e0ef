#include "worker/agent/renewal.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>
#include <spdlog/spdlog.h>

#include <boost/asio/post.hpp>
#include <future>
#include <utility>

#include "common/tls/certificates.h"
#include "common/wire/grpc_code.h"
#include "proto/trainctl.grpc.pb.h"
#include "worker/agent/host_keys.h"
#include "worker/agent/join.h"

namespace trainctl::agent {
namespace {

constexpr std::chrono::seconds kRenewalPatience{30};
constexpr const char* kJoinAnew =
    "trainworker join obtains another, with a token of trainctl admin worker-token";

std::unique_ptr<v1::WorkerGateway::Stub> GatewayAt(const std::string& address,
                                                   const HostKeys& keys) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return v1::WorkerGateway::NewStub(
      grpc::CreateCustomChannel(address, CredentialsOf(keys), arguments));
}

}  // namespace

struct Renewal::Call {
  std::unique_ptr<v1::WorkerGateway::Stub> stub;
  grpc::ClientContext context;
  v1::CertifyRequest request;
  v1::CertifyResponse response;
  std::string key;  // the private one that it is asked for
  std::promise<void> done;
};

Renewal::Renewal(boost::asio::io_context& io, const base::Clock& clock, RenewalOptions options)
    : io_(io), clock_(clock), options_(std::move(options)), timer_(io) {}

Renewal::~Renewal() {
  *alive_ = false;
  if (!call_) return;
  call_->context.TryCancel();
  call_->done.get_future().wait();
}

void Renewal::Start() {
  timer_.expires_after(options_.period);
  timer_.async_wait([this](boost::system::error_code error) {
    if (!error) Start();
  });
  if (call_) return;
  const auto keys = ReadHostKeys(options_.keys);
  if (!keys) return Ended(keys.error());
  const CertificateAge age = AgeOf(*keys, clock_.Wall());
  if (age == CertificateAge::kYoung) return;
  if (age == CertificateAge::kExpired) {
    return Ended(base::Error{base::Code::kDenied, std::string("it has expired: ") + kJoinAnew});
  }
  if (age == CertificateAge::kUnborn) {
    return Ended(base::Error{base::Code::kDenied,
                             std::string("by this host's clock it is not valid yet: set the clock; "
                                         "where it is right and the coordinator's was wrong, ") +
                                 kJoinAnew});
  }
  const auto address = options_.read_address();
  if (!address) return Ended(address.error());
  Ask(*address);
}

void Renewal::Ask(const std::string& address) {
  const auto keys = ReadHostKeys(options_.keys);
  if (!keys) return Ended(keys.error());
  auto request = tls::MakeRequest(keys->key);
  if (!request) return Ended(request.error());
  const auto call = call_ = std::make_shared<Call>();
  call->key = keys->key;
  call->stub = GatewayAt(address, *keys);
  call->context.set_deadline(std::chrono::system_clock::now() + kRenewalPatience);
  call->request.set_certificate_request(std::move(*request));
  call->stub->async()->Certify(&call->context, &call->request, &call->response,
                               [this, call, alive = alive_](const grpc::Status& status) {
                                 boost::asio::post(io_, [this, call, alive, status] {
                                   if (*alive) Answered(status, *call);
                                 });
                                 call->done.set_value();
                               });
}

void Renewal::Answered(const grpc::Status& status, const Call& call) {
  if (status.ok()) return Ended(Keep(call));
  Ended(base::Error{wire::FromGrpcCode(status.error_code()), status.error_message()});
}

// Since it was asked for, the host may have joined anew. The older one is good until its end.
base::Status Renewal::Keep(const Call& call) const {
  const auto now = ReadHostKeys(options_.keys);
  if (!now) return now.error();
  const auto answer = tls::ReadCertificate(call.response.certificate());
  if (!answer) return answer.error();
  if (answer->validity.from > clock_.Wall()) {
    return base::Error{base::Code::kConflict,
                       "by this host's clock the new one is not valid yet: is the coordinator's "
                       "clock right? What is there is kept"};
  }
  const auto kept = tls::ReadCertificate(now->certificate);
  if (!kept) return kept.error();
  if (now->key == call.key && kept->name == answer->name)
    return WriteHostCertificate(options_.keys, call.response.certificate());
  return base::Error{base::Code::kConflict,
                     options_.keys +
                         " has another key or name than when it was asked for: what is "
                         "there is kept"};
}

void Renewal::Ended(const base::Status& status) {
  call_.reset();
  const std::string fault = status ? "" : status.error().message;
  if (status) spdlog::info("this host's certificate is renewed");
  if (!status && fault != last_fault_)
    spdlog::warn("this host's certificate is not renewed: {}", fault);
  last_fault_ = fault;
  if (on_end) on_end(status);
}

}  // namespace trainctl::agent
