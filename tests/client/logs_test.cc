#include "client/exit_code.h"
#include "client/show/calendar_time.h"
#include "client/show/output.h"
#include "tests/client/client_test.h"

namespace trainctl::client {
namespace {

using LogsTest = ClientTest;

TEST_F(LogsTest, LogsOfSeveralRanksCarryTheRankBeforeEachLine) {
  coordinator_.jobs = {RunningJob("j1", "tiny")};
  coordinator_.log = {Chunk(0, "first\nsec"), Chunk(1, "other\n"), Chunk(0, "ond\nlast")};
  EXPECT_EQ(Trainctl({"logs", "j1"}).out, "[0] first\n[1] other\n[0] second\n[0] last\n");
}

TEST_F(LogsTest, LogsAsRecordsAreALineEach) {
  coordinator_.jobs = {RunningJob("j1", "tiny")};
  coordinator_.log = {Chunk(0, "first\nsec"), Chunk(1, "other\n"), Chunk(0, "ond\n\nla,st")};
  EXPECT_EQ(Trainctl({"logs", "j1", "-o", "jsonl"}).out, R"({"attempt":0,"rank":0,"text":"first"})"
                                                         "\n"
                                                         R"({"attempt":0,"rank":1,"text":"other"})"
                                                         "\n"
                                                         R"({"attempt":0,"rank":0,"text":"second"})"
                                                         "\n"
                                                         R"({"attempt":0,"rank":0,"text":""})"
                                                         "\n"
                                                         R"({"attempt":0,"rank":0,"text":"la,st"})"
                                                         "\n");
  const Json json = Json::parse(Trainctl({"logs", "j1", "-o", "json"}).out);
  EXPECT_EQ(json["lines"][2]["text"], "second");
  EXPECT_EQ(Trainctl({"logs", "j1", "-o", "csv"}).out.substr(0, 31),
            "attempt,rank,text\n0,0,first\n0,1");
  EXPECT_EQ(Trainctl({"logs", "j1", "-o", "name"}).code, kExitUsage);
}

TEST_F(LogsTest, LogsOfARunThatWroteNothingSayWhereToLook) {
  coordinator_.jobs = {FinishedJob("j1", "tiny", "FAILED")};
  const Ended ended = Trainctl({"logs", "j1"});
  EXPECT_EQ(ended.code, kExitOk);
  EXPECT_EQ(ended.err,
            "note: no output of tiny (j1) has come to the coordinator; how it stands: trainctl "
            "describe j1\n");
}

TEST_F(LogsTest, LogsThatWereRemovedForTheirAgeAreSaidToBe) {
  coordinator_.jobs = {FinishedJob("j1", "tiny", "FAILED")};
  coordinator_.details["j1"].set_logs_removed_at(1'796'133'600'000'000);
  const Ended ended = Trainctl({"logs", "j1"});
  EXPECT_EQ(ended.code, kExitOk);
  EXPECT_EQ(ended.err, "note: the logs of tiny (j1) were removed at " +
                           LocalMoment(1'796'133'600'000'000) + " by this site's policy\n");
}

TEST_F(LogsTest, LogsOfASilentRankNameTheOneThatTellsOfTheSteps) {
  coordinator_.jobs = {RunningJob("j1", "tiny")};
  EXPECT_EQ(
      Trainctl({"logs", "j1", "--rank", "1"}).err,
      "note: no output of rank 1 of tiny (j1) has come to the coordinator so far; rank 0 tells "
      "of the steps: trainctl "
      "logs j1 --rank 0\n");
}

TEST_F(LogsTest, LogsOfOneRankAreAsTheyWereWritten) {
  coordinator_.jobs = {RunningJob("j1", "tiny")};
  coordinator_.log = {Chunk(1, "a\r50 %"), Chunk(1, "\r100 %")};
  EXPECT_EQ(Trainctl({"logs", "j1", "--rank", "1", "--tail", "5", "-f"}).out, "a\r50 %\r100 %");
  EXPECT_EQ(coordinator_.logs_requests.back().rank(), 1);
  EXPECT_EQ(coordinator_.logs_requests.back().tail_lines(), 5);
  EXPECT_TRUE(coordinator_.logs_requests.back().follow());
}

v1::LogChunk ChunkAt(int64_t attempt, int64_t rank, int64_t offset, const std::string& data) {
  v1::LogChunk chunk = Chunk(rank, data);
  chunk.set_attempt(attempt);
  chunk.set_offset(offset);
  return chunk;
}

std::string Positions(const v1::LogsRequest& request) {
  std::string text;
  for (const v1::LogPosition& from : request.from()) {
    text += std::to_string(from.attempt()) + ":" + std::to_string(from.rank()) + "@" +
            std::to_string(from.offset()) + " ";
  }
  return text;
}

TEST_F(LogsTest, LogsThatAreFollowedGoOnBehindWhatWasWrittenWhereTheStreamBreaks) {
  coordinator_.jobs = {RunningJob("j1", "tiny")};
  coordinator_.tellings = {
      {{ChunkAt(1, 0, 100, "one\nha"), ChunkAt(1, 1, 0, "other\n")}, /*breaks=*/true},
      {{ChunkAt(1, 0, 106, "lf\n"), ChunkAt(2, 1, 0, "again\n")}, true},
      {{ChunkAt(2, 1, 6, "end\n")}}};
  const Ended ended = Trainctl({"logs", "-f", "j1"});
  EXPECT_EQ(ended.code, 0);
  EXPECT_EQ(ended.out, "[0] one\n[1] other\n[0] half\n[1] again\n[1] end\n");
  EXPECT_NE(ended.err.find("The coordinator does not answer"), std::string::npos);
  EXPECT_NE(ended.err.find("The coordinator answers again."), std::string::npos);
  ASSERT_EQ(coordinator_.logs_requests.size(), 3u);
  EXPECT_EQ(Positions(coordinator_.logs_requests[0]), "");
  EXPECT_EQ(Positions(coordinator_.logs_requests[1]), "1:0@106 1:1@6 ");
  EXPECT_EQ(Positions(coordinator_.logs_requests[2]), "2:1@6 ");
}

TEST_F(LogsTest, LogsThatAreNotFollowedSayThatTheStreamBroke) {
  coordinator_.jobs = {RunningJob("j1", "tiny")};
  coordinator_.tellings = {{{ChunkAt(1, 0, 0, "one\n")}, /*breaks=*/true}};
  EXPECT_EQ(Trainctl({"logs", "j1"}).code, kExitUnreachable);
}

TEST_F(LogsTest, LogsOfAGroupNameItsJobs) {
  coordinator_.jobs = {RunningJob("j1", "a"), RunningJob("j2", "b")};
  for (v1::JobView& job : coordinator_.jobs) job.set_group_name("lab");
  const Ended ended = Trainctl({"logs", "lab"});
  EXPECT_EQ(ended.code, kExitUsage);
  EXPECT_NE(ended.err.find("j1, j2"), std::string::npos);
}

}  // namespace
}  // namespace trainctl::client
