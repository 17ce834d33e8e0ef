#include "worker/agent/relay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <filesystem>

#include "common/rank/rank_json.h"
#include "proto/trainctl.pb.h"
#include "tests/shim/temp_folder.h"
#include "worker/shim/log_file.h"

namespace trainctl::agent {
namespace {

constexpr base::WallMicros kNow = 1'000;

class RelayTest : public testing::Test {
 protected:
  RelayTest() { spdlog::set_level(spdlog::level::off); }

  void Say(int64_t step) {
    spool_.Append(job::ToLine(job::RankMessage(job::RankProgress{.step = step, .steps = 10})));
  }
  static std::string Age(const v1::RankExit& exit) {
    return exit.age_us() == 7 ? "" : " of " + std::to_string(exit.age_us());
  }
  // What the relay sends now, in short: "1:progress 2:exit log0+3".
  std::string Drain() {
    std::string all;
    while (const auto message = relay_.Next(kNow))
      all += (all.empty() ? "" : " ") + Short(*message);
    return all;
  }
  static std::string Short(const v1::WorkerMessage& message) {
    if (message.has_log())
      return "log" + std::to_string(message.log().offset()) + "+" +
             std::to_string(message.log().data().size());
    const v1::RankReport& report = message.report();
    const auto said = job::RankMessageFromLine(report.line());
    const bool is_progress = said && std::holds_alternative<job::RankProgress>(*said);
    return std::to_string(report.sequence()) + ":" +
           (is_progress ? "progress" + std::to_string(std::get<job::RankProgress>(*said).step)
            : report.has_exit() ? "exit" + Age(report.exit())
                                : report.line());
  }

  tests::TempFolder folder_;
  shim::Spool spool_{folder_.path(), {}};
  shim::LogFile log_{folder_.path(), {}};
  Relay relay_{job::RankKey{base::JobId{1}, 1, 0}, folder_.path()};
};

TEST_F(RelayTest, TheEndFollowsMessagesAndLog) {
  relay_.Resume(0, 0);
  Say(1);
  log_.Append("abc");
  EXPECT_EQ(Drain(), "1:progress1 log0+3");
  Say(2);
  relay_.SetEnd(job::RankExit{.exit_code = 0}, kNow - 7);
  log_.Append("de");
  EXPECT_EQ(Drain(), "2:progress2 log3+2 3:exit");
  EXPECT_EQ(Drain(), "");
}

TEST_F(RelayTest, GoesOnBehindWhatTheCoordinatorHas) {
  for (int64_t step = 1; step <= 4; ++step) Say(step);
  log_.Append("abcdef");
  relay_.SetEnd(job::RankExit{.exit_code = 0}, kNow - 7);
  relay_.Resume(3, 4);
  EXPECT_EQ(Drain(), "4:progress4 log4+2 5:exit");
  relay_.Resume(4, 6);
  EXPECT_EQ(Drain(), "5:exit");
  relay_.Resume(5, 6);
  EXPECT_EQ(Drain(), "");
}

TEST_F(RelayTest, KeepsToItsWindows) {
  relay_.Resume(0, 0);
  for (int64_t step = 0; step < Relay::kMessageWindow + 10; ++step) Say(step % 10);
  int64_t sent = 0;
  while (relay_.Next(kNow)) ++sent;
  EXPECT_EQ(sent, Relay::kMessageWindow);
  relay_.Acknowledge(10);
  while (relay_.Next(kNow)) ++sent;
  EXPECT_EQ(sent, Relay::kMessageWindow + 10);
}

TEST_F(RelayTest, TheEndMayOvertakeALogThatWaitsForTheCoordinator) {
  relay_.Resume(0, 0);
  log_.Append(std::string(2 * Relay::kLogWindowBytes, 'x'));
  relay_.SetEnd(job::RankExit{.exit_code = 0}, kNow - 7);
  const std::string before = Drain();
  EXPECT_THAT(before, testing::Not(testing::HasSubstr("exit")));
  relay_.LetEndOvertakeLog();
  EXPECT_EQ(Drain(), "1:exit");
  EXPECT_FALSE(relay_.log_stored());
  relay_.AcknowledgeLog(Relay::kLogWindowBytes);
  EXPECT_THAT(Drain(), testing::HasSubstr("log"));
  relay_.AcknowledgeLog(2 * Relay::kLogWindowBytes);
  EXPECT_TRUE(relay_.log_stored());
}

TEST_F(RelayTest, SendsALogAgainThatNobodyStored) {
  relay_.Resume(0, 0);
  log_.Append("abcdef");
  EXPECT_EQ(Drain(), "log0+6");
  relay_.SendLogAgainIfStalled(1);
  relay_.AcknowledgeLog(2);
  relay_.SendLogAgainIfStalled(Relay::kLogPatienceMicros);
  EXPECT_EQ(Drain(), "") << "it goes on";
  relay_.SendLogAgainIfStalled(2 * Relay::kLogPatienceMicros);
  EXPECT_EQ(Drain(), "log2+4");
  relay_.AcknowledgeLog(3, /*again=*/true);
  EXPECT_EQ(Drain(), "log3+3") << "the coordinator asks for it";
  relay_.AcknowledgeLog(6);
  relay_.SendLogAgainIfStalled(9 * Relay::kLogPatienceMicros);
  EXPECT_EQ(Drain(), "") << "all is stored";
}

TEST_F(RelayTest, SaysWhereAChunkFollows) {
  const std::string missing = folder_.path() + "/later";
  shim::LogFile log(missing, {.held_bytes = 4});
  log.Append(std::string(100, 'x') + "kept");
  std::filesystem::create_directory(missing);
  log.Append("!");
  Relay relay(job::RankKey{base::JobId{1}, 1, 0}, missing);
  relay.Resume(0, 0);
  const auto chunk = relay.Next(kNow);
  EXPECT_EQ(chunk->log().after(), 0) << "what lies between is lost";
  EXPECT_EQ(chunk->log().offset(), 100);
  EXPECT_EQ(chunk->log().data(), "kept!");
}

TEST_F(RelayTest, SaysHowLongAgoEachMessageWasHeard) {
  relay_.Resume(0, 0);
  const std::string saved = job::ToLine(job::RankMessage(job::RankSaved{"checkpoint", "/out/1"}));
  for (const base::WallMicros heard_at : {kNow - 400, kNow - 100, kNow + 50}) {
    spool_.Append(saved, heard_at);
  }
  spool_.Append(saved);  // of an older shim
  std::vector<int64_t> ages;
  while (const auto message = relay_.Next(kNow)) ages.push_back(message->report().age_us());
  EXPECT_THAT(ages, testing::ElementsAre(400, 100, 0, 0));
  relay_.Resume(1, 0);
  EXPECT_EQ(relay_.Next(kNow + 1000)->report().age_us(), 1100) << "it is sent again";
}

TEST_F(RelayTest, PassesOnUnreadWhatIsNoMessage) {
  relay_.Resume(0, 0);
  spool_.Append("rub\xffish");
  Say(1);
  EXPECT_EQ(Drain(), "1:rub\xffish 2:progress1");
}

TEST_F(RelayTest, KnowsTheStepAlsoOfAnAdoptedRank) {
  Say(7);
  EXPECT_EQ(Relay(job::RankKey{base::JobId{1}, 1, 0}, folder_.path()).step(), 7);
  Say(10);
  EXPECT_EQ(Relay(job::RankKey{base::JobId{1}, 1, 0}, folder_.path()).step(), 9)
      << "the last step, from 0";
}

}  // namespace
}  // namespace trainctl::agent
