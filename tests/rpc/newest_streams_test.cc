#include "server/coordinator/newest_streams.h"

#include <gtest/gtest.h>

#include <string>

namespace trainctl::coordinator {
namespace {

core::WorkerHello HelloOf(const std::string& process, int64_t stream,
                          const std::string& folder = "f") {
  core::WorkerHello hello{.incarnation = process, .stream = stream};
  hello.worker.name = "a/0";
  hello.worker.identity = folder;
  return hello;
}

TEST(NewestStreams, AnEarlierStreamOfTheProcessIsOld) {
  NewestStreams streams;
  EXPECT_FALSE(streams.IsOld(HelloOf("p", 2)));
  streams.Note(HelloOf("p", 2));
  EXPECT_TRUE(streams.IsOld(HelloOf("p", 1)));
  EXPECT_FALSE(streams.IsOld(HelloOf("p", 3)));
}

TEST(NewestStreams, EveryStreamOfAProcessThatAnotherFollowedIsOld) {
  NewestStreams streams;
  streams.Note(HelloOf("p", 7));
  EXPECT_FALSE(streams.IsOld(HelloOf("q", 1)));
  streams.Note(HelloOf("q", 1));
  EXPECT_TRUE(streams.IsOld(HelloOf("p", 8)));
  EXPECT_FALSE(streams.IsOld(HelloOf("q", 2)));
}

TEST(NewestStreams, AnotherFolderBehindTheNameIsAnotherWorker) {
  NewestStreams streams;
  streams.Note(HelloOf("p", 2, "f"));
  EXPECT_FALSE(streams.IsOld(HelloOf("p", 1, "g")));
}

TEST(NewestStreams, WhoDoesNotNumberThemIsBelieved) {
  NewestStreams streams;
  streams.Note(HelloOf("p", 2));
  streams.Note(HelloOf("q", 0));
  EXPECT_FALSE(streams.IsOld(HelloOf("p", 0)));
}

TEST(NewestStreams, TheLastProcessesAreKnown) {
  NewestStreams streams;
  for (size_t i = 0; i < NewestStreams::kMostEndedProcesses + 2; ++i)
    streams.Note(HelloOf("p" + std::to_string(i), 1));
  EXPECT_FALSE(streams.IsOld(HelloOf("p0", 1)));
  EXPECT_TRUE(streams.IsOld(HelloOf("p1", 1)));
}

}  // namespace
}  // namespace trainctl::coordinator
