// Clients that read nothing, over the real stream: they are told so, and nobody else waits for
// them.
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/coordinator/event_loop.h"
#include "server/coordinator/read_thread.h"
#include "server/rpc/server.h"
#include "server/store/sqlite_store.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/test_site.h"

namespace trainctl::rpc {
namespace {

constexpr int kStreams = 1000;
constexpr int64_t kLogBytes = 4 << 20;
constexpr int64_t kPiece = 64 << 10;

// A coordinator whose answers may hold so much.
class SlowReadersTest : public testing::Test {
 protected:
  void Begin(const AnswerBudget::Bounds& bounds) {
    answers_ = std::make_shared<AnswerBudget>(bounds);
    ASSERT_TRUE(coordinator_.Start().ok());
    server_ = Server::Start({auth::ParseListenAddress("127.0.0.1:0").value()},
                            {.loop = loop_,
                             .reads = reads_,
                             .backups = backups_,
                             .coordinator = coordinator_,
                             .log = log_,
                             .version = "v",
                             .meters = meters_,
                             .rate = rate_,
                             .bounds = {.streams = kStreams + 10},
                             .answers = answers_})
                  .value();
    loop_.Start();
    channel_ = AnotherChannel();
    stub_ = v1::Coordinator::NewStub(channel_);
  }
  void TearDown() override {
    worker_.Disconnect();
    server_->Stop();
    reads_.Stop();
    backups_.Stop();
    loop_.Stop();
  }

  // Of a client that takes no more at once than HTTP/2 begins with, or than so many bytes.
  std::shared_ptr<grpc::Channel> AnotherChannel(std::optional<int> window_bytes = {}) const {
    grpc::ChannelArguments arguments;
    if (window_bytes) arguments.SetInt(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, *window_bytes);
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetInt(GRPC_ARG_HTTP2_BDP_PROBE, 0);
    return grpc::CreateCustomChannel(auth::ToString(server_->addresses().front()),
                                     grpc::InsecureChannelCredentials(), arguments);
  }

  v1::SubmitResponse Submit(int jobs) {
    v1::SubmitRequest request;
    request.set_request_id("r");
    request.set_group_name(jobs > 1 ? "many" : "");
    for (int i = 0; i < jobs; ++i) {
      request.add_jobs()->set_job_json(rpc_test::JobJson("job" + std::to_string(i)));
      request.mutable_jobs(i)->set_inspection_json(rpc_test::InspectionJson());
    }
    grpc::ClientContext context;
    v1::SubmitResponse response;
    const grpc::Status status = stub_->Submit(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response;
  }

  // Logs of a job that has more to tell than a stream holds.
  v1::LogsRequest Talk() {
    worker_.Connect(channel_);
    v1::LogsRequest request;
    request.set_job(Submit(1).jobs(0).id());
    const job::RankKey rank = worker_.Start();
    for (int64_t offset = 0; offset < kLogBytes; offset += kPiece)
      worker_.Log(rank, offset, std::string(kPiece, 'x'));
    worker_.WaitForLogAck(rank, kLogBytes);
    return request;
  }

  // What nobody reads is cut off; the loop looks for it each second.
  void WaitUntilNothingIsHeld() {
    const auto deadline = std::chrono::steady_clock::now() + rpc_test::kDeadline;
    while (answers_->bytes() > 0 && std::chrono::steady_clock::now() < deadline) loop_.Call([] {});
    EXPECT_EQ(answers_->bytes(), 0);
  }

  std::shared_ptr<AnswerBudget> answers_;
  rpc_test::TemporaryFolder folder_;
  std::unique_ptr<store::Store> store_ = store::OpenSqliteStore(folder_.path()).value();
  std::unique_ptr<store::Reader> reader_ = store::OpenSqliteReader(folder_.path()).value();
  base::SystemClock clock_;
  rpc_test::QuietLog log_;
  coordinator::LogFiles logs_{folder_.path() + "/logs"};
  meters::Meters meters_{clock_};
  auth::CallRate rate_{clock_, [](const std::string&) { return auth::RateBound{}; }};
  coordinator::EventLoop loop_;
  coordinator::ReadThread reads_{loop_, store::OpenSqliteReader(folder_.path()).value()};
  coordinator::Coordinator coordinator_{{loop_, clock_, *store_, *reader_, reads_, logs_, log_}};
  coordinator::BackupThread backups_{loop_, folder_.path()};
  std::unique_ptr<Server> server_;
  std::shared_ptr<grpc::Channel> channel_;
  std::unique_ptr<v1::Coordinator::Stub> stub_;
  rpc_test::FakeWorker worker_{"a/0"};
};

// A call of Logs.
struct OpenLogs {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<v1::LogChunk>> reader;

  // Once the coordinator has something to write, or has refused it; nothing is read.
  void Open(v1::Coordinator::Stub& stub, const v1::LogsRequest& request) {
    context.set_deadline(std::chrono::system_clock::now() + rpc_test::kDeadline);
    reader = stub.Logs(&context, request);
    reader->WaitForInitialMetadata();
  }
  grpc::Status ReadAll(int64_t* bytes) {
    for (v1::LogChunk chunk; reader->Read(&chunk);) *bytes += chunk.data().size();
    return reader->Finish();
  }
};

// A call of List as a stream, so that its client may leave the answer where it is.
struct OpenList {
  grpc::ClientContext context;
  std::unique_ptr<grpc::ClientReader<v1::ListResponse>> reader;

  // Once the coordinator answers; nothing is read.
  void Open(const std::shared_ptr<grpc::Channel>& channel, int jobs) {
    const grpc::internal::RpcMethod list("/trainctl.v1.Coordinator/List",
                                         grpc::internal::RpcMethod::SERVER_STREAMING, channel);
    v1::ListRequest request;
    request.set_limit(jobs);
    context.set_deadline(std::chrono::system_clock::now() + rpc_test::kDeadline);
    reader.reset(grpc::internal::ClientReaderFactory<v1::ListResponse>::Create(channel.get(), list,
                                                                               &context, request));
    reader->WaitForInitialMetadata();
  }
  grpc::Status Read(v1::ListResponse* response) {
    reader->Read(response);
    return reader->Finish();
  }
};

constexpr int kWindow = 1024;

TEST_F(SlowReadersTest, AnAnswerThatNobodyReadsEndsInItsTime) {
  Begin({.patience_us = 1'000'000});
  constexpr int kJobs = 100;  // whose list is longer than the window
  Submit(kJobs);
  OpenList list;
  list.Open(AnotherChannel(kWindow), kJobs);
  EXPECT_GT(answers_->bytes(), 2 * kWindow);
  WaitUntilNothingIsHeld();
  v1::ListResponse response;
  const grpc::Status status = list.Read(&response);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_EQ(response.jobs_size(), 0);
}

TEST_F(SlowReadersTest, AnswersThatNobodyReadsHoldLittleAndHinderNobody) {
  constexpr int64_t kBytes = 1 << 20;
  constexpr int kLists = 80, kJobs = 100;
  Begin({.bytes = 4 * kBytes, .bytes_of_user = kBytes});
  Submit(kJobs);
  const auto slow = AnotherChannel(kWindow);
  std::vector<OpenList> lists(kLists);
  for (OpenList& list : lists) list.Open(slow, kJobs);
  EXPECT_GT(answers_->bytes(), kBytes / 2);
  EXPECT_LE(answers_->bytes(), kBytes);

  OpenList other;
  other.Open(channel_, kJobs);
  v1::ListResponse response;
  EXPECT_TRUE(other.Read(&response).ok());
  EXPECT_EQ(response.jobs_size(), kJobs);
  EXPECT_EQ(lists.front().Read(&response).error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(lists.back().Read(&response).ok()) << "who reads in time gets all";
  EXPECT_EQ(response.jobs_size(), kJobs);
  for (OpenList& list : lists) list.context.TryCancel();
  WaitUntilNothingIsHeld();
}

TEST_F(SlowReadersTest, AThousandStreamsThatNobodyReadsHoldLittleAndHinderNobody) {
  constexpr int64_t kBytes = 8 << 20;
  Begin({.bytes = 4 * kBytes, .bytes_of_user = kBytes});
  const v1::LogsRequest request = Talk();
  const auto slow = v1::Coordinator::NewStub(AnotherChannel());
  std::vector<OpenLogs> streams(kStreams);
  for (OpenLogs& stream : streams) stream.Open(*slow, request);
  EXPECT_GT(answers_->bytes(), kBytes / 2);
  EXPECT_LE(answers_->bytes(), kBytes);

  OpenLogs other;
  other.Open(*stub_, request);
  int64_t read = 0;
  EXPECT_TRUE(other.ReadAll(&read).ok());
  EXPECT_EQ(read, kLogBytes);
  grpc::ClientContext context;
  v1::ListResponse listed;
  EXPECT_TRUE(stub_->List(&context, v1::ListRequest(), &listed).ok());

  // Each holds a piece twice: the oldest went.
  constexpr auto kMost = static_cast<int>(kBytes / (2 * kPiece));
  for (int i = 0; i + kMost < kStreams; ++i) {
    const grpc::Status status = streams[i].ReadAll(&read);
    ASSERT_EQ(status.error_code(), grpc::StatusCode::RESOURCE_EXHAUSTED) << i;
    ASSERT_NE(status.error_message().find("is not read, and this is the oldest"), std::string::npos)
        << status.error_message();
  }
  read = 0;
  EXPECT_TRUE(streams.back().ReadAll(&read).ok());
  EXPECT_EQ(read, kLogBytes) << "who reads in time gets all";
}

TEST_F(SlowReadersTest, AStreamThatNobodyReadsEndsInItsTime) {
  Begin({.patience_us = 1'000'000});
  const v1::LogsRequest request = Talk();
  OpenLogs stream;
  stream.Open(*v1::Coordinator::NewStub(AnotherChannel()), request);
  WaitUntilNothingIsHeld();
  int64_t read = 0;
  const grpc::Status status = stream.ReadAll(&read);
  EXPECT_EQ(status.error_code(), grpc::StatusCode::UNAVAILABLE) << status.error_message();
  EXPECT_NE(status.error_message().find("has not read for too long what it was sent"),
            std::string::npos)
      << status.error_message();
}

}  // namespace
}  // namespace trainctl::rpc
