// Health checking and reflection, called as any client would that knows nothing of trainctl: with
// raw bytes.
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/support/byte_buffer.h>
#include <gtest/gtest.h>

#include <future>

#include "tests/rpc/test_site.h"

namespace trainctl::rpc_test {
namespace {

std::string ToString(const grpc::ByteBuffer& buffer) {
  std::vector<grpc::Slice> slices;
  if (!buffer.Dump(&slices).ok()) return "";
  std::string text;
  for (const grpc::Slice& slice : slices)
    text.append(reinterpret_cast<const char*>(slice.begin()), slice.size());
  return text;
}

grpc::ByteBuffer ToBuffer(const std::string& bytes) {
  const grpc::Slice slice(bytes);
  return grpc::ByteBuffer(&slice, 1);
}

TEST(StandardServices, HealthSaysServing) {
  TestSite site;
  grpc::GenericStub stub(site.channel());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  const grpc::ByteBuffer request = ToBuffer("");  // of the whole server
  grpc::ByteBuffer response;
  std::promise<grpc::Status> done;
  stub.UnaryCall(&context, "/grpc.health.v1.Health/Check", {}, &request, &response,
                 [&](grpc::Status status) { done.set_value(status); });
  ASSERT_TRUE(done.get_future().get().ok());
  EXPECT_EQ(ToString(response), std::string("\x08\x01")) << "field 1 (status) = 1 (SERVING)";
}

// Writes one request, reads one answer, ends.
class OneAnswer : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  OneAnswer(grpc::GenericStub& stub, grpc::ClientContext& context, const std::string& method,
            const std::string& request)
      : request_(ToBuffer(request)) {
    stub.PrepareBidiStreamingCall(&context, method, {}, this);
    StartWriteLast(&request_, {});
    StartRead(&response_);
    StartCall();
  }
  void OnDone(const grpc::Status& status) override { done_.set_value(status); }
  grpc::Status Wait() { return done_.get_future().get(); }
  std::string response() const { return ToString(response_); }

 private:
  grpc::ByteBuffer request_;
  grpc::ByteBuffer response_;
  std::promise<grpc::Status> done_;
};

TEST(StandardServices, ReflectionListsBothServices) {
  TestSite site;
  grpc::GenericStub stub(site.channel());
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  const std::string list_services("\x3a\x01*");  // field 7 (list_services) = "*"
  OneAnswer call(stub, context, "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                 list_services);
  ASSERT_TRUE(call.Wait().ok());
  EXPECT_NE(call.response().find("trainctl.v1.Coordinator"), std::string::npos);
  EXPECT_NE(call.response().find("trainctl.v1.WorkerGateway"), std::string::npos);
  EXPECT_NE(call.response().find("grpc.health.v1.Health"), std::string::npos);
}

}  // namespace
}  // namespace trainctl::rpc_test
