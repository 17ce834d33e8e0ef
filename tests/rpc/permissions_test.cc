// Several Unix users at one coordinator: every RPC by every role, on their own jobs and leases and
// on those of others, against the table; and what is said to whom.
#include "server/auth/permissions.h"

#include <google/protobuf/dynamic_message.h>
#include <gtest/gtest.h>

#include "common/base/clock.h"
#include "common/job/job_json.h"
#include "tests/rpc/any_call.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/people.h"
#include "tests/rpc/test_site.h"
#include "tests/rpc/user_channel.h"

namespace trainctl::rpc_test {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::MethodDescriptor;
using Stub = v1::Coordinator::Stub;

auth::UnixPolicy Policy() {
  auth::UnixPolicy policy;
  for (const char* role :
       {"uid:61003=operator", "uid:61004=viewer", "uid:61005=none", "uid:61006=admin"})
    CHECK(auth::AddRole(role, &policy).ok()) << role;
  policy.workers = {"uid:61007"};
  return policy;
}

struct Things {
  std::string job, lease;
};

// A request of the method that names these, wherever it names jobs or a lease that there is.
std::string RequestOn(const MethodDescriptor& method, const Things& things) {
  google::protobuf::DynamicMessageFactory factory;
  const std::unique_ptr<google::protobuf::Message> message(
      factory.GetPrototype(method.input_type())->New());
  const FieldDescriptor* one = method.input_type()->FindFieldByName("job");
  const FieldDescriptor* lease =
      method.name().ends_with("Lease") && method.input_type()->FindFieldByName("wish") == nullptr
          ? method.input_type()->FindFieldByName("name")
          : nullptr;
  const FieldDescriptor* several = method.input_type()->FindFieldByName("jobs");
  if (one != nullptr) message->GetReflection()->SetString(message.get(), one, things.job);
  if (lease != nullptr) message->GetReflection()->SetString(message.get(), lease, things.lease);
  if (several != nullptr && several->type() == FieldDescriptor::TYPE_STRING)
    message->GetReflection()->AddString(message.get(), several, things.job);
  return message->SerializeAsString();
}

class PermissionsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!MayBeOtherUsers()) GTEST_SKIP() << "only root can be several users";
  }

  v1::SubmitRequest Request(const job::JobSpec& spec) {
    v1::SubmitRequest request;
    request.set_request_id("request of " + spec.name);
    request.add_jobs()->set_job_json(job::ToJson(spec));
    request.mutable_jobs(0)->set_inspection_json(InspectionJson());
    return request;
  }
  std::unique_ptr<Stub> As(uid_t user) {
    return v1::Coordinator::NewStub(ChannelAs(user, site_.address()));
  }
  std::string SubmitAs(uid_t user, const std::string& name) {
    grpc::ClientContext context;
    v1::SubmitResponse response;
    const grpc::Status status = As(user)->Submit(&context, Request(SmallJob(name)), &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return response.jobs_size() == 1 ? response.jobs(0).id() : "";
  }
  // Each behind the others, so that one device suffices for all.
  std::string LeaseAs(uid_t user) {
    grpc::ClientContext context;
    v1::CreateLeaseRequest request;
    request.set_name("of-" + std::to_string(user));
    request.set_request_id("lease " + request.name());
    request.mutable_wish()->set_devices(1);
    request.mutable_wish()->set_seconds(600);
    request.mutable_wish()->set_start(base::SystemClock().Wall() +
                                      (user % 100) * int64_t{3'600'000'000});
    v1::CreateLeaseResponse response;
    const grpc::Status status = As(user)->CreateLease(&context, request, &response);
    EXPECT_TRUE(status.ok()) << status.error_message();
    return request.name();
  }
  grpc::Status CancelAs(uid_t user, const std::string& job) {
    grpc::ClientContext context;
    v1::CancelRequest request;
    request.add_jobs(job);
    v1::CancelResponse response;
    return As(user)->Cancel(&context, request, &response);
  }

  TestSite site_{Policy()};
};

TEST_F(PermissionsTest, EveryRpcByEveryRoleOnOwnAndForeignThingsIsAsTheTableSays) {
  site_.RestartWith({});
  FakeWorker worker("a/0");
  worker.Connect(site_.channel());
  worker.Disconnect();
  std::map<uid_t, Things> own;
  for (const uid_t user : {kAnna, kOps, kViewer, kNobody, kAdmin})
    own[user] = {SubmitAs(user, "of-" + std::to_string(user)), LeaseAs(user)};
  const Things foreign = {SubmitAs(kBob, "of-bob"), LeaseAs(kBob)};
  site_.RestartWith(Policy());
  const std::map<uid_t, auth::Role> roles = {{kNobody, auth::Role::kNone},
                                             {kViewer, auth::Role::kViewer},
                                             {kAnna, auth::Role::kUser},
                                             {kOps, auth::Role::kOperator},
                                             {kAdmin, auth::Role::kAdmin}};
  int calls = 0;
  for (const auto& [user, role] : roles) {
    grpc::GenericStub stub(ChannelAs(user, site_.address()));
    const auth::Caller caller{.name = "uid:" + std::to_string(user), .role = role};
    const auto* file = v1::SubmitRequest::descriptor()->file();
    for (int service = 0; service < file->service_count(); ++service) {
      for (int i = 0; i < file->service(service)->method_count(); ++i) {
        const MethodDescriptor& method = *file->service(service)->method(i);
        const bool names_one =  // else there is no own and foreign
            RequestOn(method, {"j1", "a"}) != RequestOn(method, {"j2", "b"});
        // What may be done to own things only names one; Submit in the job's file, see below.
        const auth::Permission& row = auth::PermissionOf(method.name());
        EXPECT_TRUE(names_one || row.own == row.any || row.rpc == "Submit") << method.name();
        for (const bool is_own : {true, false}) {
          const std::string path = "/" + file->service(service)->full_name() + "/" + method.name();
          const Things& things = is_own ? own[user] : foreign;
          AnyCall call(stub, path, RequestOn(method, things));
          const grpc::Status status = call.Wait();
          const bool expected =
              names_one && !is_own ? auth::CheckOwner(caller, method.name(), "it", "uid:61002").ok()
                                   : auth::CheckCall(caller, method.name()).ok();
          EXPECT_EQ(status.error_code() != grpc::StatusCode::PERMISSION_DENIED, expected)
              << method.name() << " by " << auth::Name(role) << (is_own ? "" : " on another's")
              << ": " << status.error_message();
          EXPECT_NE(status.error_code(), grpc::StatusCode::DEADLINE_EXCEEDED) << method.name();
          ++calls;
        }
      }
    }
  }
  EXPECT_GE(calls, 5 * 23 * 2);
}

TEST_F(PermissionsTest, TheOwnerIsWhoSubmittedWhateverTheyClaim) {
  const std::string job = SubmitAs(kAnna, "hers");
  EXPECT_EQ(site_.Get(job).view().owner(), "uid:61001");
  site_.Restart();
  EXPECT_EQ(site_.Get(job).view().owner(), "uid:61001");
}

TEST_F(PermissionsTest, AnothersJobIsCancelledByOperatorsOnly) {
  const std::string job = SubmitAs(kAnna, "hers");
  const grpc::Status refused = CancelAs(kBob, job);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(refused.error_message(),
            "job " + job + " belongs to uid:61001: ask them or an operator");
  EXPECT_EQ(site_.Get(job).view().state(), "QUEUED");
  EXPECT_TRUE(CancelAs(kOps, job).ok());
  EXPECT_EQ(site_.Get(job).view().outcome(), "CANCELLED");
}

TEST_F(PermissionsTest, OneForeignJobAmongOwnOnesCancelsNone) {
  const std::string hers = SubmitAs(kAnna, "hers"), his = SubmitAs(kBob, "his");
  grpc::ClientContext context;
  v1::CancelRequest request;
  request.add_jobs(hers);
  request.add_jobs(his);
  v1::CancelResponse response;
  EXPECT_EQ(As(kAnna)->Cancel(&context, request, &response).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(response.jobs_size(), 0);
  EXPECT_EQ(site_.Get(hers).view().state(), "QUEUED");
}

TEST_F(PermissionsTest, AJobGoesOnFromItsOwnersJobOnly) {
  const std::string job = SubmitAs(kAnna, "hers");
  ASSERT_TRUE(CancelAs(kAnna, job).ok());
  job::JobSpec spec = SmallJob("more");
  spec.output = {.dir = "/out/hers", .save = job::Save::kFinal};
  spec.checkpoint.resume_job = job;
  spec.checkpoint.resume_from = "/out/hers";
  const auto resume_as = [&](uid_t user) {
    grpc::ClientContext context;
    v1::SubmitResponse response;
    return As(user)->Submit(&context, Request(spec), &response);
  };
  const grpc::Status refused = resume_as(kBob);
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED) << refused.error_message();
  EXPECT_NE(resume_as(kAnna).error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

// Whoever names the folder and not the job is asked as well.
TEST_F(PermissionsTest, AFolderOfAnothersJobIsNoCheckpointToGoOnFrom) {
  job::JobSpec hers = SmallJob("hers");
  hers.output = {.dir = "/out//hers/", .save = job::Save::kFinal};
  const auto submit_as = [&](uid_t user, const job::JobSpec& spec) {
    grpc::ClientContext context;
    v1::SubmitResponse response;
    return As(user)->Submit(&context, Request(spec), &response);
  };
  ASSERT_TRUE(submit_as(kAnna, hers).ok());
  const auto resume_as = [&](uid_t user, const std::string& folder) {
    static int requests = 0;
    job::JobSpec spec = SmallJob("more-" + std::to_string(++requests));
    spec.checkpoint.resume_from = folder;
    return submit_as(user, spec);
  };
  for (const char* folder : {"/out/hers", "/out/hers/checkpoints/step-20", "/out",
                             "/out/./hers/../hers/checkpoints/", "/"}) {
    const grpc::Status refused = resume_as(kBob, folder);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED) << folder;
    EXPECT_EQ(refused.error_message(),
              "checkpoint.resume_from: " + std::string(folder) +
                  ": job j1 belongs to uid:61001: ask them or an operator");
    EXPECT_NE(resume_as(kAnna, folder).error_code(), grpc::StatusCode::PERMISSION_DENIED);
    EXPECT_NE(resume_as(kOps, folder).error_code(), grpc::StatusCode::PERMISSION_DENIED);
  }
  EXPECT_NE(resume_as(kBob, "/out/hers-too").error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(resume_as(kBob, "../out/hers").error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  ASSERT_TRUE(CancelAs(kAnna, "j1").ok());
  EXPECT_NE(resume_as(kBob, "/out/hers").error_code(), grpc::StatusCode::PERMISSION_DENIED)
      << "it never ran, so nothing there is its";
}

TEST_F(PermissionsTest, TheModelOfAnothersJobContinuesNoTexts) {
  job::JobSpec hers = SmallJob("hers");
  hers.output = {.dir = "/out/hers", .save = job::Save::kFinal};
  const auto submit_as = [&](uid_t user, const job::JobSpec& spec) {
    grpc::ClientContext context;
    v1::SubmitResponse response;
    return As(user)->Submit(&context, Request(spec), &response);
  };
  ASSERT_TRUE(submit_as(kAnna, hers).ok());
  const auto generate_as = [&](uid_t user, const std::string& folder) {
    static int requests = 0;
    job::JobSpec spec = SmallJob("texts-" + std::to_string(++requests));
    spec.model.path = folder;
    spec.devices = 1;
    spec.train = {.micro_batch_size = 1, .max_steps = 0};
    spec.eval.prompts = {"Once"};
    return submit_as(user, spec);
  };
  const grpc::Status refused = generate_as(kBob, "/out/hers");
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(refused.error_message(),
            "model.path: /out/hers: job j1 belongs to uid:61001: ask them or an operator");
  EXPECT_TRUE(generate_as(kAnna, "/out/hers").ok());
  EXPECT_TRUE(generate_as(kOps, "/out/hers").ok());
  EXPECT_TRUE(generate_as(kBob, "/models/base").ok());
}

TEST_F(PermissionsTest, ARequestIdGivesNobodyTheAnswerOfAnother) {
  SubmitAs(kAnna, "hers");
  grpc::ClientContext context;
  v1::SubmitResponse response;
  EXPECT_EQ(As(kBob)->Submit(&context, Request(SmallJob("hers")), &response).error_code(),
            grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_EQ(response.jobs_size(), 0);
}

TEST_F(PermissionsTest, WorkersAreTheCoordinatorsUserAndThoseThatAreNamed) {
  FakeWorker named("a/0"), own("b/0"), stranger("c/0");
  named.Connect(ChannelAs(kGpu, site_.address()));
  own.Connect(site_.channel());
  stranger.Knock(ChannelAs(kAnna, site_.address()));
  const grpc::Status refused = stranger.WaitForEnd();
  EXPECT_EQ(refused.error_code(), grpc::StatusCode::PERMISSION_DENIED);
  EXPECT_NE(refused.error_message().find("--worker-user"), std::string::npos)
      << refused.error_message();
  v1::WorkersResponse workers;
  ASSERT_TRUE(site_.Call(&Stub::Workers, v1::WorkersRequest(), &workers).ok());
  EXPECT_EQ(workers.workers_size(), 2);
}

}  // namespace
}  // namespace trainctl::rpc_test
