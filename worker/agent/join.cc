#include "worker/agent/join.h"

#include <grpcpp/client_context.h>
#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>
#include <grpcpp/support/channel_arguments.h>

#include <chrono>
#include <utility>

#include "common/base/secret_file.h"
#include "common/tls/authority_file.h"
#include "common/tls/certificates.h"
#include "common/tls/handshake.h"
#include "common/wire/grpc_code.h"
#include "proto/trainctl.grpc.pb.h"

namespace trainctl::agent {
namespace {

constexpr std::chrono::seconds kJoinPatience{30};

// gRPC's words do not tell what is wrong with TLS.
base::Error WhyNot(const std::string& address, const HostKeys& keys, const grpc::Status& status) {
  if (status.error_code() == grpc::StatusCode::UNAVAILABLE) {
    const base::Status tried = tls::TryHandshake({.address = address, .authority = keys.authority});
    if (!tried) return tried.error();
  }
  return {wire::FromGrpcCode(status.error_code()), status.error_message()};
}

base::Result<std::string> AskOnce(const std::string& address, const HostKeys& keys,
                                  const std::string& token) {
  const auto request = tls::MakeRequest(keys.key);
  if (!request) return request.error();
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  const auto stub = v1::WorkerGateway::NewStub(
      grpc::CreateCustomChannel(address, CredentialsOf(keys), arguments));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kJoinPatience);
  context.AddMetadata("authorization", "Bearer " + token);
  v1::CertifyRequest asked;
  asked.set_certificate_request(*request);
  v1::CertifyResponse response;
  const grpc::Status status = stub->Certify(&context, asked, &response);
  if (!status.ok()) return WhyNot(address, keys, status);
  return response.certificate();
}

}  // namespace

std::shared_ptr<grpc::ChannelCredentials> CredentialsOf(const HostKeys& keys) {
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = keys.authority;
  if (!keys.certificate.empty()) {
    options.pem_cert_chain = keys.certificate;
    options.pem_private_key = keys.key;
  }
  return grpc::SslCredentials(options);
}

base::Status Join(const JoinOptions& options) {
  HostKeys keys;
  auto authority = tls::ReadAuthorityFile(options.authority_file);
  if (!authority) return authority.error();
  const auto token = base::ReadTokenFile(options.token_file);
  if (!token) return token.error();
  auto key = tls::MakeKey();
  if (!key) return key.error();
  keys.authority = std::move(*authority);
  keys.key = std::move(*key);
  auto certificate = AskOnce(options.coordinator, keys, *token);
  if (!certificate) return certificate.error();
  keys.certificate = std::move(*certificate);
  const auto facts = tls::ReadCertificate(keys.certificate);
  if (!facts) return facts.error();
  if (facts->name != options.host) {
    return base::Error{base::Code::kInvalid, "the join token was for host '" + facts->name +
                                                 "', and this one is '" + options.host +
                                                 "': ask for one by trainctl admin worker-token " +
                                                 options.host};
  }
  return WriteHostKeys(options.keys, keys);
}

}  // namespace trainctl::agent
