// What one Unix user can't take from the others: connections, streams, the queue, and the port
// itself.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <filesystem>

#include "common/peer/open_file.h"
#include "common/peer/socket_address.h"
#include "tests/rpc/test_site.h"
#include "tests/rpc/user_channel.h"

namespace trainctl::rpc_test {
namespace {

using Stub = v1::Coordinator::Stub;

constexpr uid_t kFlooder = 61001, kNeighbour = 61002;
constexpr auth::UserBounds kFew{.connections = 2, .streams = 1, .queued_jobs = 2};

grpc::Status AskForJobs(Stub& stub) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kDeadline);
  v1::ListResponse response;
  return stub.List(&context, v1::ListRequest(), &response);
}

class PortTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!MayBeOtherUsers()) GTEST_SKIP() << "only root can be several users";
  }
  std::unique_ptr<Stub> As(uid_t user) {
    return v1::Coordinator::NewStub(ChannelAs(user, site_.address()));
  }
  grpc::Status Submit(Stub& stub, const std::vector<std::string>& names) {
    v1::SubmitRequest request;
    request.set_request_id("request of " + names.front());
    for (const std::string& name : names) {
      v1::JobSubmission* job = request.add_jobs();
      job->set_job_json(JobJson(name));
      job->set_inspection_json(InspectionJson());
    }
    if (names.size() > 1) request.set_group_name("group");
    grpc::ClientContext context;
    v1::SubmitResponse response;
    return stub.Submit(&context, request, &response);
  }

  TestSite site_{{}, kFew};
};

TEST_F(PortTest, ConnectionsOfAUserAreBoundedAndThoseOfOthersServed) {
  auto first = As(kFlooder);
  const auto second = As(kFlooder), third = As(kFlooder);
  ASSERT_TRUE(AskForJobs(*first).ok());
  ASSERT_TRUE(AskForJobs(*second).ok());
  const grpc::Status refused = AskForJobs(*third);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_NE(refused.error_message().find("has 2 connections to the coordinator already"),
            std::string::npos)
      << refused.error_message();
  EXPECT_TRUE(AskForJobs(*As(kNeighbour)).ok());

  first.reset();
  grpc::Status again = AskForJobs(*third);
  const auto end = std::chrono::steady_clock::now() + kDeadline;
  while (!again.ok() && std::chrono::steady_clock::now() < end) again = AskForJobs(*third);
  EXPECT_TRUE(again.ok()) << "there is room again: " << again.error_message();
}

TEST_F(PortTest, StreamsOfAUserAreBoundedAndThoseOfOthersServed) {
  const std::string job = site_.Submit("waits");
  v1::WatchRequest request;
  request.add_jobs(job);
  v1::JobView view;
  const auto anna = As(kFlooder);
  grpc::ClientContext first, second, third;
  const auto open = anna->Watch(&first, request);
  ASSERT_TRUE(open->Read(&view));
  const auto refused = anna->Watch(&second, request);
  EXPECT_FALSE(refused->Read(&view));
  const grpc::Status status = refused->Finish();
  EXPECT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(status.error_message(),
            "uid:61001 has 1 streams open already, and may not have more (traincoordinator "
            "--user-streams): end programs that watch or follow jobs");
  const auto bob = As(kNeighbour);
  const auto other = bob->Watch(&third, request);
  EXPECT_TRUE(other->Read(&view));
  first.TryCancel();
  third.TryCancel();
  open->Finish();
  other->Finish();
}

TEST_F(PortTest, JobsOfAUserThatWaitAreBoundedAndThoseOfOthersTaken) {
  const auto flooder = As(kFlooder);  // one connection: how many there may be is another bound
  ASSERT_TRUE(Submit(*flooder, {"one"}).ok());
  const grpc::Status refused = Submit(*flooder, {"two", "three"});
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_EQ(refused.error_message(),
            "1 jobs of uid:61001 wait, 2 more would pass the bound of 2 a user (traincoordinator "
            "--user-jobs): cancel some, or submit again later");
  EXPECT_TRUE(Submit(*flooder, {"four"}).ok());
  EXPECT_FALSE(Submit(*flooder, {"five"}).ok());
  EXPECT_TRUE(Submit(*As(kNeighbour), {"six"}).ok());
}

// Holds all descriptors but so many.
class FewDescriptors {
 public:
  explicit FewDescriptors(size_t left) {
    getrlimit(RLIMIT_NOFILE, &before_);
    const auto files = std::filesystem::directory_iterator("/proc/self/fd");
    rlimit few = before_;
    few.rlim_cur = static_cast<rlim_t>(std::distance(begin(files), end(files))) + left;
    setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { setrlimit(RLIMIT_NOFILE, &before_); }

 private:
  rlimit before_{};
};

TEST(Port, WhereDescriptorsRanOutConnectionsWaitAndAreServedLater) {
  TestSite site;
  {
    const auto endpoint = peer::ParseEndpoint(site.address());
    sockaddr_storage address{};
    const socklen_t size = peer::ToSocketAddress(*endpoint, &address);
    std::vector<peer::OpenFile> files;
    for (int i = 0; i < 64; ++i) files.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    const FewDescriptors few(8);
    for (const peer::OpenFile& file : files)
      connect(file.get(), reinterpret_cast<sockaddr*>(&address), size);
    pollfd last{files.back().get(), POLLIN, 0};
    poll(&last, 1, 2000);  // it is closed, once those before it have what there was
  }
  const auto stub = v1::Coordinator::NewStub(
      grpc::CreateChannel(site.address(), grpc::InsecureChannelCredentials()));
  const grpc::Status status = AskForJobs(*stub);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

}  // namespace
}  // namespace trainctl::rpc_test
