// The shim as a program: what goes through it between rank and worker.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/shim/shim_under_test.h"
#include "worker/shim/log_file.h"
#include "worker/shim/spool.h"

namespace trainctl::tests {
namespace {

using base::Descriptor;
using testing::HasSubstr;

TEST(ShimStreams, KeepsAFloodedLogWithinItsBoundAndKnowsItsWholeLength) {
  constexpr int64_t kBytes = 20'000'000, kLimit = 1'000'000;
  ShimUnderTest shim("flood 20000000; exit 0",
                     {.arguments = {"--log-limit", std::to_string(kLimit) + "B"}});
  EXPECT_EQ(shim.Wait(), 0);
  int64_t kept = 0;
  for (const auto& segment : shim::ListSegments(shim.folder(), "rank.log")) kept += segment.bytes;
  EXPECT_LE(kept, kLimit);
  EXPECT_GT(kept, kLimit / 2);
  const auto newest = shim::ListSegments(shim.folder(), "rank.log").back();
  EXPECT_EQ(newest.start + newest.bytes, kBytes);
  EXPECT_THAT(shim::ReadLog(shim.folder(), 0, 14).data, "line 0\nline 1\n");
}

TEST(ShimStreams, DropsOnlyWhatMayBeLostWhenTheSpoolIsFull) {
  ShimUnderTest shim(
      "messages 5000 metrics; message {\"type\":\"saved\"}; message {\"type\":\"outcome\"}; exit 0",
      {.arguments = {"--spool-limit", "8KiB"}});
  EXPECT_EQ(shim.Wait(), 0);
  int64_t metrics = 0, dropped = 0;
  std::vector<std::string> others;
  for (const auto& message : shim.Messages()) {
    if (message["type"] == "metrics")
      ++metrics;
    else if (message["type"] == "dropped")
      dropped += message["messages"].get<int64_t>();
    else
      others.push_back(message["type"]);
  }
  EXPECT_EQ(metrics + dropped, 5000);
  EXPECT_GT(dropped, 4000);
  EXPECT_THAT(others, testing::ElementsAre("saved", "outcome"));
}

TEST(ShimStreams, CountsAMessageThatIsTooLong) {
  ShimUnderTest shim("overlong 2000000; message {\"type\":\"outcome\"}; exit 0");
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_THAT(shim.Messages(),
              testing::UnorderedElementsAre(nlohmann::json{{"type", "outcome"}},
                                            nlohmann::json{{"type", "dropped"}, {"messages", 1}}));
}

TEST(ShimStreams, PassesCommandsToTheRankAsTheyAre) {
  ShimUnderTest shim("command; command; exit 0");
  const Descriptor worker = shim.Connect();
  ShimUnderTest::Send(worker, R"({"type":"peers","blob":"ab"})");
  ShimUnderTest::Send(worker, "{}");
  EXPECT_EQ(shim.Wait(), 0);
  ASSERT_EQ(shim.Messages().size(), 2u);
  EXPECT_EQ(shim.Messages()[0]["commit"],
            "7b2274797065223a227065657273222c22626c6f62223a226162227d");
  EXPECT_EQ(shim.Messages()[1]["commit"], "7b7d");
}

TEST(ShimStreams, TheNewestWorkerWinsAndMissesNothing) {
  ShimUnderTest shim("messages 3 saved; command; messages 2 saved; command; exit 0");
  const Descriptor first = shim.Connect();
  ShimUnderTest::AwaitMessages(first, 3);
  const Descriptor second = shim.Connect();
  ShimUnderTest::AwaitMessages(second, 3);
  char byte = 0;
  EXPECT_EQ(::read(first.get(), &byte, 1), 0) << "the older connection is closed";
  ShimUnderTest::Send(second, "{}");
  ShimUnderTest::AwaitMessages(second, 6);
  ShimUnderTest::Send(second, "{}");
  EXPECT_EQ(shim.Wait(), 0);
  EXPECT_EQ(shim.Messages().size(), 7u);
}

TEST(ShimStreams, AWorkersMetricsAreNumberedWithTheRanksOwnMessages) {
  ShimUnderTest shim("messages 1 saved; command; messages 1 saved; exit 0");
  const Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 1);
  ShimUnderTest::Send(worker, R"({"type":"metrics","points":[]})");
  ShimUnderTest::Send(worker, "{}");
  EXPECT_EQ(shim.Wait(), 0);
  std::vector<std::string> types;
  for (const auto& message : shim.Messages()) types.push_back(message["type"]);
  EXPECT_THAT(types, testing::ElementsAre("saved", "metrics", "started", "saved"));
}

TEST(ShimStreams, ForgetsMessagesThatAreStored) {
  ShimUnderTest shim("messages 300 saved; command; wait",
                     {.arguments = {"--spool-limit", "16KiB"}});
  const Descriptor worker = shim.Connect();
  ShimUnderTest::AwaitMessages(worker, 300);
  ShimUnderTest::Send(worker, R"({"type":"stored","sequence":299})");
  ShimUnderTest::Send(worker, "{}");
  ShimUnderTest::AwaitMessages(worker, 301);
  EXPECT_GT(shim::ListSegments(shim.folder(), "spool.jsonl").front().start, 200);
  shim::SpoolReader reader(shim.folder());
  reader.Seek(300);
  EXPECT_EQ(nlohmann::json::parse(reader.Next()->text)["n"], 300);
}

TEST(ShimStreams, SaysOnTheSocketThatItEnds) {
  ShimUnderTest shim("command; exit 0");
  const Descriptor worker = shim.Connect();
  ShimUnderTest::Send(worker, "{}");
  EXPECT_EQ(shim.Wait(), 0);
  std::string text(4096, '\0');
  std::string all;
  for (ssize_t got; (got = ::read(worker.get(), text.data(), text.size())) > 0;)
    all.append(text, 0, static_cast<size_t>(got));
  EXPECT_THAT(all, HasSubstr("{\"type\":\"exit\",\"exit_code\":0,"));
}

}  // namespace
}  // namespace trainctl::tests
