// What a rank said stands in its job's history when it said it, however late the coordinator hears
// of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "server/core/step.h"

namespace trainctl::core {
namespace {

constexpr int64_t kSeconds = 1'000'000;

// A job that is placed at 100 s. At 1,000 s its worker tells what the rank said so long before.
class SaidAt : public testing::Test {
 protected:
  SaidAt() {
    WorkerHello hello;
    hello.worker.host = "a";
    hello.worker.name = "a/0";
    hello.device_free = true;
    Take(hello, 100);
    Take(JobsSubmitted{"r", "", {{job::JobSpec(), job::Inspection(), std::nullopt}}}, 100);
    said_.clear();
  }

  // The times that it left in the history, in seconds; of an artefact too.
  std::vector<int64_t> TimesOf(job::ReportBody body, int64_t age_us) {
    said_.clear();
    Take(RankReported{"a/0", {{1}, 1, 0}, ++sequence_, std::move(body), age_us}, 1000);
    return said_;
  }
  std::vector<int64_t> TimesOfSaved(int64_t age_us) {
    return TimesOf(job::RankSaved{"checkpoint", "/out/1"}, age_us);
  }

 private:
  void Take(const Event& event, int64_t seconds) {
    for (const Persist& row :
         Step(state_, event, {seconds * kSeconds, seconds * kSeconds}).persist) {
      if (const auto* said = std::get_if<EventRow>(&row)) said_.push_back(said->at / kSeconds);
      if (const auto* saved = std::get_if<ArtefactRow>(&row)) said_.push_back(saved->at / kSeconds);
    }
  }

  State state_;
  int64_t sequence_ = 0;
  std::vector<int64_t> said_;
};

TEST_F(SaidAt, IsWhenTheRankSaidItByItsWorkersWord) {
  EXPECT_THAT(TimesOf(job::RankPhase{.phase = job::RunPhase::kTraining}, 700 * kSeconds),
              testing::ElementsAre(300))
      << "all ranks joined";
  EXPECT_THAT(TimesOfSaved(600 * kSeconds), testing::ElementsAre(400, 400));
  EXPECT_THAT(TimesOf(job::RankNotice{"the disk is full"}, 30 * kSeconds),
              testing::ElementsAre(970));
  EXPECT_THAT(TimesOf(job::RankDropped{3}, 20 * kSeconds), testing::ElementsAre(980));
  EXPECT_THAT(TimesOf(job::UnreadableMessage{"no JSON"}, 10 * kSeconds), testing::ElementsAre(990));
}

TEST_F(SaidAt, IsNowWhereAnOlderWorkerDoesNotSay) {
  EXPECT_THAT(TimesOfSaved(0), testing::ElementsAre(1000, 1000));
}

TEST_F(SaidAt, IsNeitherBeforeThePlacementNorInTheFuture) {
  EXPECT_THAT(TimesOfSaved(901 * kSeconds), testing::ElementsAre(100, 100));
  EXPECT_THAT(TimesOfSaved(std::numeric_limits<int64_t>::max()), testing::ElementsAre(100, 100));
  EXPECT_THAT(TimesOfSaved(-5 * kSeconds), testing::ElementsAre(1000, 1000));
  EXPECT_THAT(TimesOfSaved(std::numeric_limits<int64_t>::min()), testing::ElementsAre(1000, 1000));
}

}  // namespace
}  // namespace trainctl::core
