// What trainctl says of a site's policy, against the real coordinator under it.
#include <gtest/gtest.h>

#include <filesystem>

#include "client/exit_code.h"
#include "client/show/output.h"
#include "common/base/file.h"
#include "common/job/job_json.h"
#include "tests/checkout.h"
#include "tests/rpc/fake_worker.h"
#include "tests/rpc/trainctl_site.h"

namespace trainctl::rpc_test {
namespace {

using client::Json;

class PolicyTrainctlTest : public testing::Test {
 protected:
  // With these words behind the file of a small job.
  Ended Submit(std::vector<std::string> more) {
    const std::string path = folder_.path() + "/small.json";
    job::JobSpec job = SmallJob("small");
    job.resources.priority.reset();
    EXPECT_TRUE(base::WriteFileAtomically(path, job::ToJson(job)).ok());
    more.insert(more.begin(), {"submit", path});
    return Trainctl(site_, more);
  }

  // The dry run says what the submission meets.
  void ExpectRefused(const std::vector<std::string>& settings, const std::string& why) {
    std::vector<std::string> dry = settings;
    dry.emplace_back("--dry-run");
    const Ended told = Submit(dry);
    EXPECT_EQ(told.code, client::kExitWouldNotRun) << told.err;
    EXPECT_NE(told.out.find(why), std::string::npos) << told.out;
    const Ended refused = Submit(settings);
    EXPECT_EQ(refused.code, client::kExitUsage) << refused.err;
    EXPECT_NE(refused.err.find(why), std::string::npos) << refused.err;
  }

  void ExpectTaken(std::vector<std::string> settings) {
    settings.emplace_back("--dry-run");
    const Ended told = Submit(settings);
    EXPECT_EQ(told.code, client::kExitOk) << told.out << told.err;
    settings.pop_back();
    const Ended taken = Submit(settings);
    EXPECT_EQ(taken.code, client::kExitOk) << taken.err;
  }

  TestSite site_;
  TemporaryFolder folder_;
};

TEST_F(PolicyTrainctlTest, ADryRunKnowsTheRangeOfPriorities) {
  site_.RestartUnder(R"({"users": {"*": {"min_priority": 10, "max_priority": 60}}})");
  ExpectRefused({"--resources.priority", "61"}, "expected a priority from 10 to 60");
  ExpectRefused({"--resources.priority", "9"}, "expected a priority from 10 to 60");
  ExpectTaken({"--resources.priority", "60"});
}

TEST_F(PolicyTrainctlTest, ADryRunKnowsHowManyDevicesAUserMayHave) {
  site_.RestartUnder(R"({"users": {"*": {"max_running_devices": 2}}})");
  ExpectRefused({"--devices", "3"}, "expected at most 2, all that one user may have at once");
  ExpectTaken({"--devices", "2"});
}

TEST_F(PolicyTrainctlTest, ADryRunKnowsThatAnExclusiveJobHoldsAllOfItsHosts) {
  site_.RestartUnder(R"({"users": {"*": {"max_running_devices": 2}}})");
  for (const char* name : {"a/0", "a/1", "a/2", "b/0", "b/1"}) {
    FakeWorker worker(name);
    worker.Connect(site_.channel());
    worker.Disconnect();
  }
  ExpectRefused({"--exclusive", "true", "--resources.constraints.host", "=a"},
                "3 of its whole hosts: expected at most 2");
  ExpectTaken({"--exclusive", "true"});
}

TEST_F(PolicyTrainctlTest, ADryRunKnowsTheLongestTimeLimit) {
  site_.RestartUnder(R"({"users": {"*": {"max_time_limit": "1h"}}})");
  ExpectRefused({"--resources.time_limit", "61min"}, "expected a time of at most 1h");
  ExpectTaken({"--resources.time_limit", "1h"});
}

TEST_F(PolicyTrainctlTest, ADryRunKnowsWhetherOneMoreMayWait) {
  site_.RestartUnder(R"({"users": {"*": {"max_queued_jobs": 1}}})");
  ExpectTaken({});
  const Ended told = Submit({"--dry-run"});
  EXPECT_EQ(told.code, client::kExitWouldNotRun);
  EXPECT_NE(told.out.find("that wait at once; 1 wait now"), std::string::npos) << told.out;
}

TEST_F(PolicyTrainctlTest, WhatAJobLeavesUnsaidIsThePolicysAndIsSaid) {
  site_.RestartUnder(R"({"users": {"*": {"max_priority": 40, "max_time_limit": "1h"}}})");
  const Ended told = Submit({});
  EXPECT_EQ(told.code, client::kExitOk) << told.err;
  EXPECT_NE(told.err.find("resources.priority is 40, by this site's policy"), std::string::npos);
  EXPECT_NE(told.err.find("resources.time_limit is 1h, by this site's policy"), std::string::npos);
  const job::JobSpec taken = job::FromJson(site_.Get("j1").job_json()).value();
  EXPECT_EQ(taken.resources.priority, 40);
  EXPECT_EQ(taken.resources.time_limit_seconds, 3600);
}

// Submitted again to a site that grants less, it is taken there too.
TEST_F(PolicyTrainctlTest, AnUnsaidPriorityIsStoredAsUnsaid) {
  site_.RestartUnder(R"({"users": {"*": {"max_priority": 60}}})");
  ExpectTaken({});
  const job::JobSpec taken = job::FromJson(site_.Get("j1").job_json()).value();
  EXPECT_EQ(taken.resources.priority, std::nullopt);
}

TEST_F(PolicyTrainctlTest, AUserSeesWhatTheSiteGrants) {
  site_.RestartUnder(R"({"users": {"*": {"max_running_devices": 4, "max_queued_jobs": 9,
                         "max_time_limit": "24h", "max_priority": 60}}})");
  ExpectTaken({});
  const std::string text = Trainctl(site_, {"workers"}).out;
  EXPECT_NE(text.find("no workers"), std::string::npos) << text;
  EXPECT_NE(text.find("at most 4 devices at once (0 now), at most 9 jobs that wait (1 now)"),
            std::string::npos)
      << text;
  const Json bounds = Json::parse(Trainctl(site_, {"workers", "-o", "json"}).out)["bounds"];
  EXPECT_EQ(bounds["max_time_limit_seconds"], 86'400);
  EXPECT_EQ(bounds["max_priority"], 60);
  EXPECT_EQ(bounds["max_leased_devices"], Json());
  EXPECT_EQ(bounds["max_lease_seconds"], 86'400);
}

TEST_F(PolicyTrainctlTest, APolicyBoundsHowLongALeaseMayBe) {
  site_.RestartUnder(R"({"users": {"*": {"max_lease_time": "2h"}}})");
  EXPECT_NE(Trainctl(site_, {"workers"}).out.find("leases of at most 2h"), std::string::npos);
  const std::vector<std::vector<std::string>> verbs = {{"create", "lab"}, {"find"}};
  for (const std::vector<std::string>& verb : verbs) {
    std::vector<std::string> words = {"lease"};
    words.insert(words.end(), verb.begin(), verb.end());
    words.insert(words.end(), {"--gpus", "1", "--for", "3h"});
    const Ended refused = Trainctl(site_, words);
    EXPECT_EQ(refused.code, client::kExitUsage) << verb.front();
    EXPECT_NE(refused.err.find("the longest that this site's policy grants"), std::string::npos)
        << refused.err;
  }
}

// What a site begins with takes what it ships.
TEST_F(PolicyTrainctlTest, TheExamplePolicyTakesTheRecipesThatSayNothing) {
  site_.RestartUnder(base::ReadFile(checkout::File("deploy/policy.example.json"), 1 << 20).value());
  for (const char* name : {"quickstart", "ddp", "oom", "chat", "completion"}) {
    const std::string path = checkout::File("deploy/recipes/" + std::string(name) + ".json");
    const Ended told = Trainctl(site_, {"submit", path, "--dry-run"});
    EXPECT_EQ(told.code, client::kExitOk) << name << ": " << told.out << told.err;
    const Ended taken = Trainctl(site_, {"submit", path});
    EXPECT_EQ(taken.code, client::kExitOk) << name << ": " << taken.err;
    EXPECT_NE(taken.err.find("resources.time_limit is 1d"), std::string::npos) << taken.err;
  }
}

}  // namespace
}  // namespace trainctl::rpc_test
