#include "client/grpc_api.h"

#include <grpc/support/log.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "common/base/parse_number.h"
#include "common/base/secret_file.h"
#include "common/peer/dial.h"
#include "common/tls/authority_file.h"
#include "common/tls/handshake.h"
#include "common/wire/grpc_code.h"
#include "common/wire/valid_text.h"
#include "proto/trainctl.grpc.pb.h"

namespace trainctl::client {
namespace {

constexpr double kCallSeconds = 30;
constexpr double kInspectSeconds = 180;       // a worker reads and tokenizes the whole data file
constexpr double kBackupSeconds = 24 * 3600;  // the whole database, on a slow disk
constexpr double kReadSeconds = 90;           // a worker reads from a slow disk
constexpr double kRemovalSeconds = 3600;      // workers of many hosts remove large files
constexpr int kMaxMessageBytes = 64 << 20;
// Then a ping, which gRPC answers however busy the coordinator is. No answer to it: the connection
// is dead or the coordinator is stopped, and calls and streams end.
constexpr int kSilenceMillis = 3'000;
constexpr int kPingMillis = 3'000;
constexpr std::chrono::seconds kAcceptPatience{5};
constexpr std::chrono::milliseconds kHandshakePatience{2000};
constexpr std::chrono::milliseconds kLongestWait{10'000};  // in all, of who calls too often
constexpr std::chrono::milliseconds kShortestWait{20};

void SetDeadline(double seconds, grpc::ClientContext* context) {
  context->set_deadline(std::chrono::system_clock::now() +
                        std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000)));
}

grpc::ChannelArguments ChannelOptions() {
  grpc::ChannelArguments options;
  options.SetMaxReceiveMessageSize(kMaxMessageBytes);
  options.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY,
                 0);  // a site's coordinator is never behind the proxy of the web
  options.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
  options.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  options.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kSilenceMillis);
  options.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kPingMillis);
  options.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);  // no limit
  return options;
}

// Waits as the coordinator asks who calls too often: nothing of such a call was done. False: it
// asks nothing, or more than is left, which it takes the wait from.
bool WaitAsAsked(const grpc::ClientContext& context, std::chrono::milliseconds* left) {
  const auto& metadata = context.GetServerTrailingMetadata();
  const auto found = metadata.find(wire::kRetryAfterMs);
  if (found == metadata.end()) return false;
  const auto asked = base::ParseNumber({found->second.data(), found->second.size()});
  if (!asked || *asked < 0 || *asked > left->count()) return false;
  const auto wait = std::max(kShortestWait, std::chrono::milliseconds(*asked));
  *left -= wait;
  std::this_thread::sleep_for(wait);
  return true;
}

// What was typed can hold any bytes.
template <class Request>
Request ValidText(Request request) {
  wire::MakeTextValid(&request);
  return request;
}

class GrpcApi : public Api {
 public:
  GrpcApi(const NamedServer& server, const std::string& server_user,
          std::chrono::milliseconds patience)
      : server_(server),
        server_user_(server_user),
        patience_(patience),
        loopback_(peer::FindLoopback(server.address)) {}

  base::Result<v1::SubmitResponse> Submit(const v1::SubmitRequest& request) override {
    return Call<v1::SubmitResponse>(&v1::Coordinator::Stub::Submit, request, kCallSeconds);
  }
  base::Result<v1::ListResponse> List(const v1::ListRequest& request) override {
    return Call<v1::ListResponse>(&v1::Coordinator::Stub::List, request, kCallSeconds);
  }
  base::Result<v1::GetResponse> Get(const v1::GetRequest& request) override {
    return Call<v1::GetResponse>(&v1::Coordinator::Stub::Get, request, kCallSeconds);
  }
  base::Result<v1::CancelResponse> Cancel(const v1::CancelRequest& request) override {
    return Call<v1::CancelResponse>(&v1::Coordinator::Stub::Cancel, request, kCallSeconds);
  }
  base::Result<v1::RemoveResponse> Remove(const v1::RemoveRequest& request) override {
    return Call<v1::RemoveResponse>(&v1::Coordinator::Stub::Remove, request, kCallSeconds);
  }
  base::Result<v1::RemoveOutputsResponse> RemoveOutputs(
      const v1::RemoveOutputsRequest& request) override {
    return Call<v1::RemoveOutputsResponse>(&v1::Coordinator::Stub::RemoveOutputs, request,
                                           kRemovalSeconds);
  }
  base::Result<v1::CompareResponse> Compare(const v1::CompareRequest& request) override {
    return Call<v1::CompareResponse>(&v1::Coordinator::Stub::Compare, request, kCallSeconds);
  }
  base::Result<v1::InspectResponse> Inspect(const v1::InspectRequest& request) override {
    return Call<v1::InspectResponse>(&v1::Coordinator::Stub::Inspect, request, kInspectSeconds);
  }
  base::Result<v1::ReadArtifactResponse> ReadArtifact(
      const v1::ReadArtifactRequest& request) override {
    return Call<v1::ReadArtifactResponse>(&v1::Coordinator::Stub::ReadArtifact, request,
                                          kReadSeconds);
  }
  base::Result<v1::EarlierRunsResponse> EarlierRuns(
      const v1::EarlierRunsRequest& request) override {
    return Call<v1::EarlierRunsResponse>(&v1::Coordinator::Stub::EarlierRuns, request,
                                         kCallSeconds);
  }
  base::Result<v1::FenceResponse> Fence(const v1::FenceRequest& request) override {
    return Call<v1::FenceResponse>(&v1::Coordinator::Stub::Fence, request, kCallSeconds);
  }
  base::Result<v1::DrainResponse> Drain(const v1::DrainRequest& request) override {
    return Call<v1::DrainResponse>(&v1::Coordinator::Stub::Drain, request, kCallSeconds);
  }
  base::Result<v1::UndrainResponse> Undrain(const v1::UndrainRequest& request) override {
    return Call<v1::UndrainResponse>(&v1::Coordinator::Stub::Undrain, request, kCallSeconds);
  }
  base::Result<v1::RemoveWorkerResponse> RemoveWorker(
      const v1::RemoveWorkerRequest& request) override {
    return Call<v1::RemoveWorkerResponse>(&v1::Coordinator::Stub::RemoveWorker, request,
                                          kCallSeconds);
  }
  base::Result<v1::WorkersResponse> Workers() override {
    return Call<v1::WorkersResponse>(&v1::Coordinator::Stub::Workers, v1::WorkersRequest(),
                                     kCallSeconds);
  }
  base::Result<v1::SignInResponse> SignIn() override {
    return Call<v1::SignInResponse>(&v1::Coordinator::Stub::SignIn, v1::SignInRequest(),
                                    kCallSeconds);
  }
  base::Result<v1::AuditResponse> Audit(const v1::AuditRequest& request) override {
    return Call<v1::AuditResponse>(&v1::Coordinator::Stub::Audit, request, kCallSeconds);
  }
  base::Result<v1::BackupResponse> Backup(const v1::BackupRequest& request) override {
    return Call<v1::BackupResponse>(&v1::Coordinator::Stub::Backup, request, kBackupSeconds);
  }
  base::Result<v1::CreateTokenResponse> CreateToken(
      const v1::CreateTokenRequest& request) override {
    return Call<v1::CreateTokenResponse>(&v1::Coordinator::Stub::CreateToken, request,
                                         kCallSeconds);
  }
  base::Result<v1::ListTokensResponse> ListTokens() override {
    return Call<v1::ListTokensResponse>(&v1::Coordinator::Stub::ListTokens, v1::ListTokensRequest(),
                                        kCallSeconds);
  }
  base::Result<v1::RevokeTokenResponse> RevokeToken(
      const v1::RevokeTokenRequest& request) override {
    return Call<v1::RevokeTokenResponse>(&v1::Coordinator::Stub::RevokeToken, request,
                                         kCallSeconds);
  }
  base::Result<v1::RevokeHostResponse> RevokeHost(const v1::RevokeHostRequest& request) override {
    return Call<v1::RevokeHostResponse>(&v1::Coordinator::Stub::RevokeHost, request, kCallSeconds);
  }

  base::Result<v1::CreateLeaseResponse> CreateLease(
      const v1::CreateLeaseRequest& request) override {
    return Call<v1::CreateLeaseResponse>(&v1::Coordinator::Stub::CreateLease, request,
                                         kCallSeconds);
  }
  base::Result<v1::FindLeaseResponse> FindLease(const v1::FindLeaseRequest& request) override {
    return Call<v1::FindLeaseResponse>(&v1::Coordinator::Stub::FindLease, request, kCallSeconds);
  }
  base::Result<v1::LeasesResponse> Leases() override {
    return Call<v1::LeasesResponse>(&v1::Coordinator::Stub::Leases, v1::LeasesRequest(),
                                    kCallSeconds);
  }
  base::Result<v1::ExtendLeaseResponse> ExtendLease(
      const v1::ExtendLeaseRequest& request) override {
    return Call<v1::ExtendLeaseResponse>(&v1::Coordinator::Stub::ExtendLease, request,
                                         kCallSeconds);
  }
  base::Result<v1::DeleteLeaseResponse> DeleteLease(
      const v1::DeleteLeaseRequest& request) override {
    return Call<v1::DeleteLeaseResponse>(&v1::Coordinator::Stub::DeleteLease, request,
                                         kCallSeconds);
  }

  base::Status Logs(const v1::LogsRequest& request,
                    const std::function<bool(const v1::LogChunk&)>& on_message) override {
    return ReadAll<v1::LogChunk>(&v1::Coordinator::Stub::Logs, request, std::nullopt, on_message);
  }
  base::Status Metrics(const v1::MetricsRequest& request,
                       const std::function<bool(const v1::MetricsResponse&)>& on_message) override {
    return ReadAll<v1::MetricsResponse>(&v1::Coordinator::Stub::Metrics, request, std::nullopt,
                                        on_message);
  }
  base::Status Watch(const v1::WatchRequest& request, double period_seconds,
                     const std::function<bool(const v1::JobView&)>& on_message) override {
    bool heard = false, is_over = false;
    const base::Status status = ReadAll<v1::JobView>(
        &v1::Coordinator::Stub::Watch, request, period_seconds,
        [&](const v1::JobView& view) {
          heard = true;
          return on_message(view);
        },
        &is_over);
    // Nothing heard in a whole period is a dead connection; otherwise the period's end is no error.
    if (heard && !status.ok() && is_over) return base::Ok{};
    return status;
  }

 private:
  using Stub = v1::Coordinator::Stub;

  // On loopback it connects itself, once more where the connection is gone: gRPC would send to
  // whoever listens.
  base::Result<std::shared_ptr<Stub>> Connected() {
    const std::lock_guard lock(mutex_);
    if (!server_.context.empty()) return ConnectedByTls();
    if (!loopback_) return NotWithoutTls();
    if (stub_ != nullptr && peer::Stands(connection_.own, connection_.other)) return stub_;
    const auto made = peer::DialTrusted(*loopback_, {.also_trusted = server_user_,
                                                     .how_to_trust = "TRAINCTL_SERVER_USER=",
                                                     .patience = kAcceptPatience});
    if (!made && made.error().code == base::Code::kUnavailable)
      return NoAnswer(base::Code::kUnavailable, made.error().message);
    if (!made) return made.error();
    connection_ = *made;
    stub_ = v1::Coordinator::NewStub(grpc::CreateCustomInsecureChannelFromFd(
        server_.address, connection_.file, ChannelOptions()));
    return stub_;
  }

  // The files are read at the first call.
  base::Result<std::shared_ptr<Stub>> ConnectedByTls() {
    if (stub_ != nullptr) return stub_;
    const auto authority = tls::ReadAuthorityFile(server_.ca_file);
    if (!authority) return AtContext(authority.error());
    const auto token = base::ReadTokenFile(server_.token_file);
    if (!token) return AtContext(token.error());
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = authority_ = *authority;
    token_ = *token;
    gpr_set_log_function([](gpr_log_func_args*) {});  // what is wrong is said by Explained
    stub_ = v1::Coordinator::NewStub(grpc::CreateCustomChannel(
        server_.address, grpc::SslCredentials(options), ChannelOptions()));
    return stub_;
  }

  // Nobody can be proven there, and everybody on the way could read and change what is said.
  base::Error NotWithoutTls() const {
    return {base::Code::kDenied,
            server_.address +
                " is not on this host: over the network a coordinator is reached by TLS, with its "
                "CA and a token (trainctl context add --help); or through an SSH tunnel (ssh -N -L "
                "7070:127.0.0.1:7070 HOST, and --server 127.0.0.1:7070)"};
  }

  base::Error AtContext(const base::Error& error) const {
    return {error.code, "context " + server_.context + ": " + error.message};
  }

  // Only over TLS there is one.
  void AddToken(grpc::ClientContext* context) const {
    if (!token_.empty()) context->AddMetadata("authorization", "Bearer " + token_);
  }

  template <class Response, class Method, class Request>
  base::Result<Response> Call(Method method, const Request& request, double seconds) {
    std::chrono::milliseconds patience = kLongestWait;
    while (true) {
      const auto stub = Connected();
      if (!stub) return stub.error();
      grpc::ClientContext context;
      SetDeadline(seconds, &context);
      AddToken(&context);
      Response response;
      const grpc::Status status = ((*stub).get()->*method)(&context, ValidText(request), &response);
      if (status.ok()) return response;
      if (WaitAsAsked(context, &patience)) continue;
      if (context.GetServerTrailingMetadata().contains(wire::kAnswered))
        return base::Error{wire::FromGrpcCode(status.error_code()), status.error_message()};
      return ToError(status);
    }
  }

  // seconds: nullopt: for as long as it lasts. is_over: tells whether they have passed.
  template <class Message, class Method, class Request>
  base::Status ReadAll(Method method, const Request& request, std::optional<double> seconds,
                       const std::function<bool(const Message&)>& on_message,
                       bool* is_over = nullptr) {
    std::chrono::milliseconds patience = kLongestWait;
    while (true) {
      const auto stub = Connected();
      if (!stub) return stub.error();
      grpc::ClientContext context;
      if (seconds) SetDeadline(*seconds, &context);
      AddToken(&context);
      const auto reader = ((*stub).get()->*method)(&context, ValidText(request));
      Message message;
      while (reader->Read(&message)) {
        if (on_message(message)) continue;
        context.TryCancel();
        reader->Finish();
        return base::Ok{};
      }
      const grpc::Status status = reader->Finish();
      if (is_over != nullptr) *is_over = context.deadline() <= std::chrono::system_clock::now();
      if (status.ok()) return base::Ok{};
      if (!WaitAsAsked(context, &patience)) return ToError(status);
    }
  }

  // Of what did not come from the coordinator, gRPC's wording says little to people.
  base::Error ToError(const grpc::Status& status) const {
    const bool unreachable = status.error_code() == grpc::StatusCode::UNAVAILABLE ||
                             status.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED;
    const base::Code code = wire::FromGrpcCode(status.error_code());
    if (!unreachable) return {code, status.error_message()};
    return Explained().value_or(NoAnswer(code, status.error_message()));
  }

  // Where TLS is the cause: gRPC's words do not say so. nullopt: it is not.
  std::optional<base::Error> Explained() const {
    if (!server_.context.empty()) {
      const base::Status tried =
          tls::TryHandshake({.address = server_.address,
                             .authority = authority_,
                             .patience = std::max(patience_, kHandshakePatience)});
      if (tried || tried.error().code != base::Code::kDenied) return std::nullopt;
      return AtContext(tried.error());
    }
    if (!tls::SpeaksTls(server_.address, std::max(patience_, kHandshakePatience)))
      return std::nullopt;
    return base::Error{base::Code::kDenied, server_.address +
                                                " speaks TLS: name it with its CA and a token "
                                                "(trainctl context add --help)"};
  }

  base::Error NoAnswer(base::Code code, const std::string& why) const {
    return {code,
            "no answer from the coordinator at " + server_.address + ": " + why +
                ". Is it running there (trainctl local status, systemctl status "
                "traincoordinator)? " +
                (server_.file.empty() ? "" : "The address is that of " + server_.file + ". ") +
                (server_.context.empty()
                     ? ""
                     : "The address is that of the context " + server_.context + ". ") +
                "Another one: --server HOST:PORT"};
  }

  const NamedServer server_;
  const std::string server_user_;
  const std::chrono::milliseconds patience_;
  const std::optional<peer::Endpoint> loopback_;
  std::mutex mutex_;
  peer::Connection connection_;  // of stub_, on loopback
  std::shared_ptr<Stub> stub_;
  std::string authority_, token_;  // over TLS, once stub_ is there
};

}  // namespace

std::unique_ptr<Api> ConnectGrpc(const NamedServer& server, const std::string& server_user,
                                 std::chrono::milliseconds patience) {
  return std::make_unique<GrpcApi>(server, server_user, patience);
}

}  // namespace trainctl::client
