// Inspections are bounded for each user, idle workers look first, and what one host can't read
// another may.
#include "server/coordinator/inspections.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <vector>

namespace trainctl::coordinator {
namespace {

constexpr int64_t kMicrosPerSecond = 1'000'000;

class AskedWorker : public WorkerChannel {
 public:
  void Send(const WorkerCommand& command) override {
    asked.push_back(std::get<AskInspect>(command).request_id);
  }
  void End(const base::Error&) override {}

  std::vector<std::string> asked;  // request ids
};

class InspectionsTest : public testing::Test {
 protected:
  void Join(const std::string& name) { sessions_.Join(name, "", workers_[name], 0); }
  // Its answer appears in the returned place.
  std::shared_ptr<std::optional<base::Result<job::Inspection>>> Ask(
      const std::string& user, const std::string& worker = "") {
    auto answer = std::make_shared<std::optional<base::Result<job::Inspection>>>();
    inspections_.Ask({user, worker, "{}"}, now_,
                     [answer](base::Result<job::Inspection> result) { *answer = result; });
    return answer;
  }
  size_t AskedOf(const std::string& worker) { return workers_[worker].asked.size(); }
  void Answer(const std::string& worker, base::Result<job::Inspection> result) {
    inspections_.OnResult(worker, workers_[worker].asked.back(), std::move(result), now_);
  }
  void Wait(int64_t seconds) {
    now_ += seconds * kMicrosPerSecond;
    inspections_.OnTick(now_);
  }

  std::map<std::string, AskedWorker> workers_;
  std::set<std::string> busy_;
  WorkerSessions sessions_;
  base::SteadyMicros now_ = kMicrosPerSecond;
  Inspections inspections_{sessions_, [this](const std::string& w) { return !busy_.contains(w); }};
};

TEST_F(InspectionsTest, NobodyAnswersForAnotherWorker) {
  Join("a/0");
  Join("b/0");
  const auto answer = Ask("ann", "a/0");
  inspections_.OnResult("b/0", workers_["a/0"].asked.back(), job::Inspection{.rows = 666}, now_);
  EXPECT_FALSE(answer->has_value());
  Answer("a/0", job::Inspection{.rows = 1});
  ASSERT_TRUE(answer->has_value() && (*answer)->ok());
  EXPECT_EQ((**answer)->rows, 1);
}

TEST_F(InspectionsTest, OneUsersHangingInspectionsLeaveRoomForOthers) {
  Join("a/0");
  for (int i = 0; i < 8; ++i) Ask("ann");
  EXPECT_EQ(AskedOf("a/0"), Inspections::kMostOfUser);
  Ask("bob");
  EXPECT_EQ(AskedOf("a/0"), Inspections::kMostOfUser + 1);
}

TEST_F(InspectionsTest, WhoWaitedIsAskedOfWhenAnotherEnds) {
  Join("a/0");
  Ask("ann");
  const auto second = Ask("ann");
  const auto third = Ask("ann");
  EXPECT_EQ(AskedOf("a/0"), 2u);
  Answer("a/0", job::Inspection{.rows = 2});
  EXPECT_EQ((*second)->value().rows, 2);
  EXPECT_EQ(AskedOf("a/0"), 3u);
  EXPECT_FALSE(third->has_value());
}

TEST_F(InspectionsTest, AnIdleWorkerLooksFirst) {
  Join("a/0");
  Join("b/0");
  busy_ = {"a/0"};
  Ask("ann");
  EXPECT_EQ(AskedOf("a/0"), 0u);
  EXPECT_EQ(AskedOf("b/0"), 1u);
  busy_ = {"a/0", "b/0"};
  Ask("ann");
  EXPECT_EQ(AskedOf("a/0"), 1u) << "of busy ones the one that is asked less";
}

TEST_F(InspectionsTest, ThoseThatHangEndAtTheirDeadlineAndSoDoThoseThatWait) {
  Join("a/0");
  const auto hangs = Ask("ann"), hangs_too = Ask("ann"), waits = Ask("ann");
  Wait(61);
  EXPECT_EQ((*hangs)->error().code, base::Code::kUnavailable);
  EXPECT_EQ((*hangs_too)->error().code, base::Code::kUnavailable);
  EXPECT_EQ((*waits)->error().code, base::Code::kUnavailable);
}

TEST_F(InspectionsTest, TooManyThatWaitAreRefused) {
  Join("a/0");
  for (size_t i = 0; i < Inspections::kMostOfUser + Inspections::kMostWaitingOfUser; ++i)
    Ask("ann");
  EXPECT_EQ((*Ask("ann"))->error().code, base::Code::kExhausted);
  EXPECT_FALSE(Ask("bob")->has_value());
}

TEST_F(InspectionsTest, WhatOneHostCannotReadAnotherMay) {
  Join("a/0");
  Join("a/1");
  Join("b/0");
  const auto answer = Ask("ann");
  Answer("a/0", base::Error{base::Code::kInvalid, "/data: no such file"});
  EXPECT_FALSE(answer->has_value());
  EXPECT_EQ(AskedOf("a/1"), 0u) << "the same host would not know better";
  Answer("b/0", job::Inspection{.rows = 7});
  EXPECT_EQ((*answer)->value().rows, 7);
}

TEST_F(InspectionsTest, WhatNoHostCanReadIsTheJobsFault) {
  Join("a/0");
  Join("b/0");
  const auto answer = Ask("ann");
  Answer("a/0", base::Error{base::Code::kInvalid, "first"});
  Answer("b/0", base::Error{base::Code::kInvalid, "second"});
  EXPECT_EQ((*answer)->error().code, base::Code::kInvalid);
  EXPECT_EQ((*answer)->error().message, "first");
}

TEST_F(InspectionsTest, WhatOneHostCannotReadIsNoFaultWhileAnotherDoesNotAnswer) {
  Join("a/0");
  Join("b/0");
  const auto answer = Ask("ann");
  Answer("a/0", base::Error{base::Code::kInvalid, "first"});
  Answer("b/0", base::Error{base::Code::kUnavailable, "it takes too long"});
  EXPECT_EQ((*answer)->error().code, base::Code::kUnavailable);
  EXPECT_EQ((*answer)->error().message, "first; another host: it takes too long");
}

TEST_F(InspectionsTest, AWorkerThatIsNamedIsTheOnlyOneAsked) {
  Join("a/0");
  Join("b/0");
  const auto answer = Ask("ann", "b/0");
  EXPECT_EQ(AskedOf("b/0"), 1u);
  Answer("b/0", base::Error{base::Code::kInvalid, "no such file"});
  EXPECT_EQ((*answer)->error().code, base::Code::kInvalid);
  EXPECT_EQ((*Ask("ann", "c/0"))->error().code, base::Code::kUnavailable);
}

}  // namespace
}  // namespace trainctl::coordinator
