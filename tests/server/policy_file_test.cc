#include "server/core/policy_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/checkout.h"

namespace trainctl::core {
namespace {

using testing::HasSubstr;

std::string FaultOf(std::string_view text) {
  const auto policy = ReadSitePolicy(text, "policy.json");
  if (policy) return "";
  EXPECT_EQ(policy.error().code, base::Code::kInvalid);
  return policy.error().message;
}

TEST(PolicyFile, WhatAUsersOwnEntrySaysGoesBeforeEverybodys) {
  const auto policy = ReadSitePolicy(R"({
    "users": {
      "anna": {"max_running_devices": 16, "max_time_limit": null, "min_priority": 10},
      "*": {"max_running_devices": 8, "max_queued_jobs": 200, "max_priority": 60,
            "max_time_limit": "24h", "max_leased_devices": 4, "max_lease_time": "3h",
            "max_calls_per_second": 50, "max_call_burst": 200},
      "ops": {"max_calls_per_second": null, "max_lease_time": null}
    },
    "fair_share": {"half_life": "7d"},
    "preemption": {"min_run_time": "5min"},
    "retention": {"points_after": "90d", "logs_after": "30d"},
    "max_queued_jobs": 100000
  })",
                                     "policy.json");
  ASSERT_TRUE(policy) << policy.error().message;
  const UserPolicy anna = policy->Of("anna"), ben = policy->Of("ben"), nobody = policy->Of("");
  EXPECT_EQ(anna.max_running_devices, 16);
  EXPECT_EQ(anna.max_queued_jobs, 200);
  EXPECT_EQ(anna.max_leased_devices, 4);
  EXPECT_EQ(anna.max_lease_seconds, 3 * 3600);
  EXPECT_EQ(policy->max_queued_jobs, 100'000);
  EXPECT_EQ(anna.min_priority, 10);
  EXPECT_EQ(anna.max_priority, 60);
  EXPECT_EQ(anna.max_time_limit_seconds, std::nullopt);
  EXPECT_EQ(ben.max_running_devices, 8);
  EXPECT_EQ(ben.min_priority, 0);
  EXPECT_EQ(ben.max_time_limit_seconds, 86'400);
  EXPECT_EQ(anna.max_calls_per_second, 50);
  EXPECT_EQ(anna.max_call_burst, 200);
  EXPECT_EQ(policy->Of("ops").max_calls_per_second, std::nullopt);
  EXPECT_EQ(policy->Of("ops").max_lease_seconds, std::nullopt);
  EXPECT_EQ(nobody.max_running_devices, std::nullopt);
  EXPECT_EQ(nobody.max_priority, 100);
  EXPECT_EQ(policy->half_life_us, int64_t{7} * 86'400 * 1'000'000);
  EXPECT_EQ(policy->preempt_after_us, int64_t{300} * 1'000'000);
  EXPECT_EQ(policy->points_after_us, int64_t{90} * 86'400 * 1'000'000);
  EXPECT_EQ(policy->logs_after_us, int64_t{30} * 86'400 * 1'000'000);
}

TEST(PolicyFile, TheExampleIsRead) {
  std::ostringstream text;
  text << std::ifstream(checkout::File("deploy/policy.example.json")).rdbuf();
  const auto policy = ReadSitePolicy(text.str(), "policy.example.json");
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(policy->Of("anna").max_running_devices, 8);
  EXPECT_EQ(policy->Of("anna").max_time_limit_seconds, 86'400);
  EXPECT_EQ(policy->Of("ops").max_queued_jobs, 200);
}

// The keys that the parser knows, as it tells them of an object with none of them.
std::vector<std::string> KnownKeys(const std::string& around, const std::string& behind) {
  const std::string fault = FaultOf(around + R"({"?": 1})" + behind);
  const std::string_view before = "expected one of ";
  const size_t begin = fault.find(before) + before.size();
  std::istringstream list(fault.substr(begin, fault.find_first_of(";\n", begin) - begin));
  std::vector<std::string> keys;
  for (std::string key; std::getline(list >> std::ws, key, ',');) keys.push_back(key);
  return keys;
}

TEST(PolicyFile, TheExampleHasEveryKey) {
  std::ostringstream text;
  text << std::ifstream(checkout::File("deploy/policy.example.json")).rdbuf();
  for (const auto& [around, behind] :
       std::vector<std::pair<std::string, std::string>>{{"", ""},
                                                        {R"({"users": {"*": )", "}}"},
                                                        {R"({"fair_share": )", "}"},
                                                        {R"({"preemption": )", "}"},
                                                        {R"({"retention": )", "}"}}) {
    const std::vector<std::string> keys = KnownKeys(around, behind);
    EXPECT_FALSE(keys.empty()) << around;
    for (const std::string& key : keys) EXPECT_THAT(text.str(), HasSubstr('"' + key + "\":"));
  }
}

TEST(PolicyFile, OfAnEmptyPolicyCallsAndTheQueueAloneAreBound) {
  const auto policy = ReadSitePolicy("{}", "policy.json");
  ASSERT_TRUE(policy) << policy.error().message;
  EXPECT_EQ(policy->Of("anna").max_running_devices, std::nullopt);
  EXPECT_EQ(policy->Of("anna").max_queued_jobs, std::nullopt);
  EXPECT_EQ(policy->Of("anna").max_leased_devices, std::nullopt);
  EXPECT_EQ(policy->Of("anna").max_lease_seconds, 86'400);
  EXPECT_EQ(policy->max_queued_jobs, 10'000);
  EXPECT_EQ(policy->Of("anna").max_calls_per_second, 1000);
  EXPECT_EQ(policy->Of("anna").max_call_burst, 10'000);
  EXPECT_EQ(policy->half_life_us, std::nullopt);
  EXPECT_EQ(policy->points_after_us, std::nullopt);
  EXPECT_EQ(policy->logs_after_us, std::nullopt);
}

TEST(PolicyFile, AKeyThatIsNotKnownIsNamedWithItsLineAndTheNearestOne) {
  EXPECT_EQ(
      FaultOf("{\n\"users\": {\n\"anna\": {\"max_runing_devices\": 4}}}"),
      "policy.json:3: users.anna.max_runing_devices: expected one of max_running_devices, "
      "max_queued_jobs, min_priority, max_priority, max_time_limit, max_leased_devices, "
      "max_lease_time, max_calls_per_second, max_call_burst; did you mean 'max_running_devices'?");
  EXPECT_THAT(FaultOf(R"({"user": {}})"),
              HasSubstr("policy.json:1: user: expected one of users, fair_share, preemption, "
                        "max_queued_jobs, retention; did you mean 'users'?"));
  EXPECT_THAT(FaultOf(R"({"fair_share": {"halflife": "7d"}})"),
              HasSubstr("fair_share.halflife: expected one of half_life; did you mean "
                        "'half_life'?"));
}

TEST(PolicyFile, EveryFaultIsListed) {
  const std::string fault = FaultOf(R"({
    "users": {
      "*": {"max_running_devices": 0, "max_queued_jobs": "many", "max_time_limit": "24"},
      "anna": {"min_priority": 70, "max_priority": 60, "max_call_burst": null},
      "ben": 4
    },
    "fair_share": {"half_life": "5s"},
    "preemption": {"min_run_time": 600},
    "max_queued_jobs": null,
    "retention": {"points_after": "30min", "logs_after": "1s"}
  })");
  EXPECT_THAT(fault, HasSubstr("policy.json:3: users.*.max_running_devices: 0: expected a whole "
                               "number from 1 to 1000000, or null for no bound"));
  EXPECT_THAT(fault, HasSubstr("users.*.max_queued_jobs: \"many\": expected a whole number"));
  EXPECT_THAT(fault, HasSubstr("users.*.max_time_limit: \"24\": expected a time from 1s to 366d, "
                               "such as \"24h\""));
  EXPECT_THAT(fault, HasSubstr("policy.json:4: users.anna: min_priority 70, max_priority 60: "
                               "expected min_priority to be at most max_priority"));
  EXPECT_THAT(fault, HasSubstr("users.anna.max_call_burst: null: expected a whole number from 1"));
  EXPECT_THAT(fault, HasSubstr("policy.json:5: users.ben: 4: expected an object with "));
  EXPECT_THAT(fault, HasSubstr("policy.json:7: fair_share.half_life: \"5s\": expected a time from "
                               "1min to 366d"));
  EXPECT_THAT(fault, HasSubstr("policy.json:8: preemption.min_run_time: 600: expected a time from "
                               "1s to 366d, such as \"10min\""));
  EXPECT_THAT(fault, HasSubstr("policy.json:9: max_queued_jobs: null: expected a whole number from "
                               "1 to 1000000"));
  EXPECT_THAT(fault, HasSubstr("policy.json:10: retention.points_after: \"30min\": expected a time "
                               "from 1h to 366d, such as \"90d\""));
  EXPECT_THAT(fault, HasSubstr("retention.logs_after: \"1s\": expected a time from 1h to 366d"));
}

TEST(PolicyFile, WhatIsNoObjectIsRefused) {
  EXPECT_THAT(FaultOf("[]"), HasSubstr("the policy: []: expected an object"));
  EXPECT_THAT(FaultOf(R"({"users": 1})"), HasSubstr("users: 1: expected an object of users"));
  EXPECT_THAT(FaultOf(R"({"fair_share": {}})"), HasSubstr("fair_share: {}: expected half_life"));
  EXPECT_THAT(FaultOf(R"({"preemption": {}})"), HasSubstr("preemption: {}: expected min_run_time"));
  EXPECT_THAT(FaultOf(R"({"retention": {}})"), HasSubstr("retention: {}: expected points_after or "
                                                         "logs_after"));
  EXPECT_THAT(FaultOf(R"({"users": {"": {}}})"), HasSubstr("expected a user's name"));
  EXPECT_THAT(FaultOf("{"), HasSubstr("valid JSON"));
  EXPECT_THAT(FaultOf(R"({"users": {}, "users": {}})"), HasSubstr("duplicate key"));
}

}  // namespace
}  // namespace trainctl::core
