#include "server/rpc/health_service.h"

#include <google/protobuf/wrappers.pb.h>
#include <grpcpp/support/server_callback.h>

#include <set>
#include <string>

#include "server/rpc/request_reader.h"
#include "server/rpc/status.h"

namespace trainctl::rpc {
namespace {

constexpr int kServing = 1;  // of HealthCheckResponse.ServingStatus

// HealthCheckRequest has a string as its first field, HealthCheckResponse a number: as these
// messages of Protobuf have.
using CheckRequest = google::protobuf::StringValue;
using CheckResponse = google::protobuf::UInt32Value;

// All who ask are one user.
class HealthCheck final : public grpc::ServerBidiReactor<grpc::ByteBuffer, CheckResponse>,
                          private RequestReader::Call {
 public:
  explicit HealthCheck(RequestBudget& budget) : reader_(*this, budget) {
    response_.set_value(kServing);
    reader_.Read("whoever asks for its health", "Check", &request_);
  }

 private:
  void OnReadDone(bool ok) override { reader_.OnReadDone(ok); }
  void OnCancel() override { reader_.OnCancel(); }
  void OnDone() override { delete this; }
  void StartReadRequest(grpc::ByteBuffer* bytes) override { StartRead(bytes); }
  void OnRequest(const base::Status& read) override {
    static const std::set<std::string> known = {"", "trainctl.v1.Coordinator",
                                                "trainctl.v1.WorkerGateway"};
    if (!read) return Finish(ToGrpc(read));
    if (!known.contains(request_.value())) return Finish({grpc::StatusCode::NOT_FOUND, ""});
    StartWriteAndFinish(&response_, {}, grpc::Status::OK);
  }

  CheckRequest request_;
  CheckResponse response_;
  RequestReader reader_;
};

}  // namespace

HealthService::HealthService(RequestBudget& budget) {
  using Handler = grpc::internal::CallbackBidiHandler<grpc::ByteBuffer, CheckResponse>;
  AddMethod(new grpc::internal::RpcServiceMethod(
      "/grpc.health.v1.Health/Check", grpc::internal::RpcMethod::BIDI_STREAMING, nullptr));
  MarkMethodRawCallback(
      0, new Handler([&budget](grpc::CallbackServerContext*) { return new HealthCheck(budget); }));
}

}  // namespace trainctl::rpc
