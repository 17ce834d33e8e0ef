// What waits for an answer is bounded for each user, so that nobody keeps out all others.
#include "server/coordinator/waiting_questions.h"

#include <gtest/gtest.h>

#include "server/coordinator/artifact_reads.h"

namespace trainctl::coordinator {
namespace {

TEST(WaitingQuestions, OneUsersLeaveRoomForOthersAndTheWordsSayWhose) {
  WaitingQuestions waiting(3, 2);
  EXPECT_TRUE(waiting.Enter("eve"));
  EXPECT_TRUE(waiting.Enter("eve"));
  const base::Status refused = waiting.Enter("eve");
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, base::Code::kExhausted);
  EXPECT_EQ(refused.error().message,
            "eve has 2 questions that wait already, and may not have more: try again when some are "
            "answered");
  EXPECT_TRUE(waiting.Enter("anna"));
  EXPECT_EQ(waiting.Enter("bob").error().message,
            "3 questions wait already: try again in a moment");
  waiting.Leave("eve");
  EXPECT_TRUE(waiting.Enter("eve"));
}

TEST(WaitingQuestions, WhoIsNobodyHasTheBoundOfAll) {
  WaitingQuestions waiting(3, 1);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(waiting.Enter(""));
  EXPECT_FALSE(waiting.Enter("").ok());
  for (int i = 0; i < 3; ++i) waiting.Leave("");
  EXPECT_TRUE(waiting.Enter("eve"));
}

class SilentWorker : public WorkerChannel {
 public:
  void Send(const WorkerCommand&) override { ++asked; }
  void End(const base::Error&) override {}

  size_t asked = 0;
};

TEST(ArtifactReadsOfAStoppedWorker, OfOneUserLeaveRoomForOthers) {
  SilentWorker stopped;
  WorkerSessions sessions;
  sessions.Join("a/0", "", stopped, 0);
  ArtifactReads reads;
  std::string refusal;
  const auto ask = [&](const std::string& user) {
    reads.Ask(sessions, {"a/0"}, user, {}, 1, [&](const base::Result<job::ArtifactPiece>& piece) {
      if (!piece) refusal = piece.error().message;
    });
  };
  for (size_t i = 0; i < ArtifactReads::kMaxWaiting; ++i) ask("eve");
  EXPECT_EQ(stopped.asked, ArtifactReads::kMaxWaitingOfUser);
  EXPECT_EQ(refusal,
            "eve has 16 reads of artifacts that wait already, and may not have more: try again "
            "when some are answered");
  ask("anna");
  EXPECT_EQ(stopped.asked, ArtifactReads::kMaxWaitingOfUser + 1);
}

}  // namespace
}  // namespace trainctl::coordinator
